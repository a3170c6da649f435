var ke,E,dt,Wn,Q,lt,_t,$t,ft,je,Ie,Le,Vn,ce={},mt=[],Gn=/acit|ex(?:s|g|n|p|$)|rph|grid|ows|mnc|ntw|ine[ch]|zoo|^ord|itera/i,xe=Array.isArray;function z(e,t){for(var n in t)e[n]=t[n];return e}function He(e){e&&e.parentNode&&e.parentNode.removeChild(e)}function Se(e,t,n){var o,s,r,a={};for(r in t)r=="key"?o=t[r]:r=="ref"?s=t[r]:a[r]=t[r];if(arguments.length>2&&(a.children=arguments.length>3?ke.call(arguments,2):n),typeof e=="function"&&e.defaultProps!=null)for(r in e.defaultProps)a[r]===void 0&&(a[r]=e.defaultProps[r]);return ye(e,a,o,s,null)}function ye(e,t,n,o,s){var r={type:e,props:t,key:n,ref:o,__k:null,__:null,__b:0,__e:null,__c:null,constructor:void 0,__v:s??++dt,__i:-1,__u:0};return s==null&&E.vnode!=null&&E.vnode(r),r}function Ee(e){return e.children}function le(e,t){this.props=e,this.context=t}function ne(e,t){if(t==null)return e.__?ne(e.__,e.__i+1):null;for(var n;t<e.__k.length;t++)if((n=e.__k[t])!=null&&n.__e!=null)return n.__e;return typeof e.type=="function"?ne(e):null}function ht(e){var t,n;if((e=e.__)!=null&&e.__c!=null){for(e.__e=e.__c.base=null,t=0;t<e.__k.length;t++)if((n=e.__k[t])!=null&&n.__e!=null){e.__e=e.__c.base=n.__e;break}return ht(e)}}function ct(e){(!e.__d&&(e.__d=!0)&&Q.push(e)&&!we.__r++||lt!=E.debounceRendering)&&((lt=E.debounceRendering)||_t)(we)}function we(){for(var e,t,n,o,s,r,a,l=1;Q.length;)Q.length>l&&Q.sort($t),e=Q.shift(),l=Q.length,e.__d&&(n=void 0,o=void 0,s=(o=(t=e).__v).__e,r=[],a=[],t.__P&&((n=z({},o)).__v=o.__v+1,E.vnode&&E.vnode(n),Fe(t.__P,n,o,t.__n,t.__P.namespaceURI,32&o.__u?[s]:null,r,s??ne(o),!!(32&o.__u),a),n.__v=o.__v,n.__.__k[n.__i]=n,bt(r,n,a),o.__e=o.__=null,n.__e!=s&&ht(n)));we.__r=0}function gt(e,t,n,o,s,r,a,l,p,c,d){var u,_,$,k,h,b,g,y=o&&o.__k||mt,R=t.length;for(p=Kn(n,t,y,p,R),u=0;u<R;u++)($=n.__k[u])!=null&&(_=$.__i==-1?ce:y[$.__i]||ce,$.__i=u,b=Fe(e,$,_,s,r,a,l,p,c,d),k=$.__e,$.ref&&_.ref!=$.ref&&(_.ref&&Ue(_.ref,null,$),d.push($.ref,$.__c||k,$)),h==null&&k!=null&&(h=k),(g=!!(4&$.__u))||_.__k===$.__k?p=vt($,p,e,g):typeof $.type=="function"&&b!==void 0?p=b:k&&(p=k.nextSibling),$.__u&=-7);return n.__e=h,p}function Kn(e,t,n,o,s){var r,a,l,p,c,d=n.length,u=d,_=0;for(e.__k=new Array(s),r=0;r<s;r++)(a=t[r])!=null&&typeof a!="boolean"&&typeof a!="function"?(p=r+_,(a=e.__k[r]=typeof a=="string"||typeof a=="number"||typeof a=="bigint"||a.constructor==String?ye(null,a,null,null,null):xe(a)?ye(Ee,{children:a},null,null,null):a.constructor==null&&a.__b>0?ye(a.type,a.props,a.key,a.ref?a.ref:null,a.__v):a).__=e,a.__b=e.__b+1,l=null,(c=a.__i=zn(a,n,p,u))!=-1&&(u--,(l=n[c])&&(l.__u|=2)),l==null||l.__v==null?(c==-1&&(s>d?_--:s<d&&_++),typeof a.type!="function"&&(a.__u|=4)):c!=p&&(c==p-1?_--:c==p+1?_++:(c>p?_--:_++,a.__u|=4))):e.__k[r]=null;if(u)for(r=0;r<d;r++)(l=n[r])!=null&&(2&l.__u)==0&&(l.__e==o&&(o=ne(l)),wt(l,l));return o}function vt(e,t,n,o){var s,r;if(typeof e.type=="function"){for(s=e.__k,r=0;s&&r<s.length;r++)s[r]&&(s[r].__=e,t=vt(s[r],t,n,o));return t}e.__e!=t&&(o&&(t&&e.type&&!t.parentNode&&(t=ne(e)),n.insertBefore(e.__e,t||null)),t=e.__e);do t=t&&t.nextSibling;while(t!=null&&t.nodeType==8);return t}function zn(e,t,n,o){var s,r,a,l=e.key,p=e.type,c=t[n],d=c!=null&&(2&c.__u)==0;if(c===null&&e.key==null||d&&l==c.key&&p==c.type)return n;if(o>(d?1:0)){for(s=n-1,r=n+1;s>=0||r<t.length;)if((c=t[a=s>=0?s--:r++])!=null&&(2&c.__u)==0&&l==c.key&&p==c.type)return a}return-1}function ut(e,t,n){t[0]=="-"?e.setProperty(t,n??""):e[t]=n==null?"":typeof n!="number"||Gn.test(t)?n:n+"px"}function be(e,t,n,o,s){var r,a;e:if(t=="style")if(typeof n=="string")e.style.cssText=n;else{if(typeof o=="string"&&(e.style.cssText=o=""),o)for(t in o)n&&t in n||ut(e.style,t,"");if(n)for(t in n)o&&n[t]==o[t]||ut(e.style,t,n[t])}else if(t[0]=="o"&&t[1]=="n")r=t!=(t=t.replace(ft,"$1")),a=t.toLowerCase(),t=a in e||t=="onFocusOut"||t=="onFocusIn"?a.slice(2):t.slice(2),e.l||(e.l={}),e.l[t+r]=n,n?o?n.u=o.u:(n.u=je,e.addEventListener(t,r?Le:Ie,r)):e.removeEventListener(t,r?Le:Ie,r);else{if(s=="http://www.w3.org/2000/svg")t=t.replace(/xlink(H|:h)/,"h").replace(/sName$/,"s");else if(t!="width"&&t!="height"&&t!="href"&&t!="list"&&t!="form"&&t!="tabIndex"&&t!="download"&&t!="rowSpan"&&t!="colSpan"&&t!="role"&&t!="popover"&&t in e)try{e[t]=n??"";break e}catch{}typeof n=="function"||(n==null||n===!1&&t[4]!="-"?e.removeAttribute(t):e.setAttribute(t,t=="popover"&&n==1?"":n))}}function pt(e){return function(t){if(this.l){var n=this.l[t.type+e];if(t.t==null)t.t=je++;else if(t.t<n.u)return;return n(E.event?E.event(t):t)}}}function Fe(e,t,n,o,s,r,a,l,p,c){var d,u,_,$,k,h,b,g,y,R,M,H,W,ae,Y,Z,ie,U=t.type;if(t.constructor!=null)return null;128&n.__u&&(p=!!(32&n.__u),r=[l=t.__e=n.__e]),(d=E.__b)&&d(t);e:if(typeof U=="function")try{if(g=t.props,y="prototype"in U&&U.prototype.render,R=(d=U.contextType)&&o[d.__c],M=d?R?R.props.value:d.__:o,n.__c?b=(u=t.__c=n.__c).__=u.__E:(y?t.__c=u=new U(g,M):(t.__c=u=new le(g,M),u.constructor=U,u.render=Jn),R&&R.sub(u),u.props=g,u.state||(u.state={}),u.context=M,u.__n=o,_=u.__d=!0,u.__h=[],u._sb=[]),y&&u.__s==null&&(u.__s=u.state),y&&U.getDerivedStateFromProps!=null&&(u.__s==u.state&&(u.__s=z({},u.__s)),z(u.__s,U.getDerivedStateFromProps(g,u.__s))),$=u.props,k=u.state,u.__v=t,_)y&&U.getDerivedStateFromProps==null&&u.componentWillMount!=null&&u.componentWillMount(),y&&u.componentDidMount!=null&&u.__h.push(u.componentDidMount);else{if(y&&U.getDerivedStateFromProps==null&&g!==$&&u.componentWillReceiveProps!=null&&u.componentWillReceiveProps(g,M),!u.__e&&u.shouldComponentUpdate!=null&&u.shouldComponentUpdate(g,u.__s,M)===!1||t.__v==n.__v){for(t.__v!=n.__v&&(u.props=g,u.state=u.__s,u.__d=!1),t.__e=n.__e,t.__k=n.__k,t.__k.some(function(G){G&&(G.__=t)}),H=0;H<u._sb.length;H++)u.__h.push(u._sb[H]);u._sb=[],u.__h.length&&a.push(u);break e}u.componentWillUpdate!=null&&u.componentWillUpdate(g,u.__s,M),y&&u.componentDidUpdate!=null&&u.__h.push(function(){u.componentDidUpdate($,k,h)})}if(u.context=M,u.props=g,u.__P=e,u.__e=!1,W=E.__r,ae=0,y){for(u.state=u.__s,u.__d=!1,W&&W(t),d=u.render(u.props,u.state,u.context),Y=0;Y<u._sb.length;Y++)u.__h.push(u._sb[Y]);u._sb=[]}else do u.__d=!1,W&&W(t),d=u.render(u.props,u.state,u.context),u.state=u.__s;while(u.__d&&++ae<25);u.state=u.__s,u.getChildContext!=null&&(o=z(z({},o),u.getChildContext())),y&&!_&&u.getSnapshotBeforeUpdate!=null&&(h=u.getSnapshotBeforeUpdate($,k)),Z=d,d!=null&&d.type===Ee&&d.key==null&&(Z=yt(d.props.children)),l=gt(e,xe(Z)?Z:[Z],t,n,o,s,r,a,l,p,c),u.base=t.__e,t.__u&=-161,u.__h.length&&a.push(u),b&&(u.__E=u.__=null)}catch(G){if(t.__v=null,p||r!=null)if(G.then){for(t.__u|=p?160:128;l&&l.nodeType==8&&l.nextSibling;)l=l.nextSibling;r[r.indexOf(l)]=null,t.__e=l}else{for(ie=r.length;ie--;)He(r[ie]);Me(t)}else t.__e=n.__e,t.__k=n.__k,G.then||Me(t);E.__e(G,t,n)}else r==null&&t.__v==n.__v?(t.__k=n.__k,t.__e=n.__e):l=t.__e=qn(n.__e,t,n,o,s,r,a,p,c);return(d=E.diffed)&&d(t),128&t.__u?void 0:l}function Me(e){e&&e.__c&&(e.__c.__e=!0),e&&e.__k&&e.__k.forEach(Me)}function bt(e,t,n){for(var o=0;o<n.length;o++)Ue(n[o],n[++o],n[++o]);E.__c&&E.__c(t,e),e.some(function(s){try{e=s.__h,s.__h=[],e.some(function(r){r.call(s)})}catch(r){E.__e(r,s.__v)}})}function yt(e){return typeof e!="object"||e==null||e.__b&&e.__b>0?e:xe(e)?e.map(yt):z({},e)}function qn(e,t,n,o,s,r,a,l,p){var c,d,u,_,$,k,h,b=n.props,g=t.props,y=t.type;if(y=="svg"?s="http://www.w3.org/2000/svg":y=="math"?s="http://www.w3.org/1998/Math/MathML":s||(s="http://www.w3.org/1999/xhtml"),r!=null){for(c=0;c<r.length;c++)if(($=r[c])&&"setAttribute"in $==!!y&&(y?$.localName==y:$.nodeType==3)){e=$,r[c]=null;break}}if(e==null){if(y==null)return document.createTextNode(g);e=document.createElementNS(s,y,g.is&&g),l&&(E.__m&&E.__m(t,r),l=!1),r=null}if(y==null)b===g||l&&e.data==g||(e.data=g);else{if(r=r&&ke.call(e.childNodes),b=n.props||ce,!l&&r!=null)for(b={},c=0;c<e.attributes.length;c++)b[($=e.attributes[c]).name]=$.value;for(c in b)if($=b[c],c!="children"){if(c=="dangerouslySetInnerHTML")u=$;else if(!(c in g)){if(c=="value"&&"defaultValue"in g||c=="checked"&&"defaultChecked"in g)continue;be(e,c,null,$,s)}}for(c in g)$=g[c],c=="children"?_=$:c=="dangerouslySetInnerHTML"?d=$:c=="value"?k=$:c=="checked"?h=$:l&&typeof $!="function"||b[c]===$||be(e,c,$,b[c],s);if(d)l||u&&(d.__html==u.__html||d.__html==e.innerHTML)||(e.innerHTML=d.__html),t.__k=[];else if(u&&(e.innerHTML=""),gt(t.type=="template"?e.content:e,xe(_)?_:[_],t,n,o,y=="foreignObject"?"http://www.w3.org/1999/xhtml":s,r,a,r?r[0]:n.__k&&ne(n,0),l,p),r!=null)for(c=r.length;c--;)He(r[c]);l||(c="value",y=="progress"&&k==null?e.removeAttribute("value"):k!=null&&(k!==e[c]||y=="progress"&&!k||y=="option"&&k!=b[c])&&be(e,c,k,b[c],s),c="checked",h!=null&&h!=e[c]&&be(e,c,h,b[c],s))}return e}function Ue(e,t,n){try{if(typeof e=="function"){var o=typeof e.__u=="function";o&&e.__u(),o&&t==null||(e.__u=e(t))}else e.current=t}catch(s){E.__e(s,n)}}function wt(e,t,n){var o,s;if(E.unmount&&E.unmount(e),(o=e.ref)&&(o.current&&o.current!=e.__e||Ue(o,null,t)),(o=e.__c)!=null){if(o.componentWillUnmount)try{o.componentWillUnmount()}catch(r){E.__e(r,t)}o.base=o.__P=null}if(o=e.__k)for(s=0;s<o.length;s++)o[s]&&wt(o[s],t,n||typeof e.type!="function");n||He(e.__e),e.__c=e.__=e.__e=void 0}function Jn(e,t,n){return this.constructor(e,n)}function Be(e,t,n){var o,s,r,a;t==document&&(t=document.documentElement),E.__&&E.__(e,t),s=(o=typeof n=="function")?null:n&&n.__k||t.__k,r=[],a=[],Fe(t,e=(!o&&n||t).__k=Se(Ee,null,[e]),s||ce,ce,t.namespaceURI,!o&&n?[n]:s?null:t.firstChild?ke.call(t.childNodes):null,r,!o&&n?n:s?s.__e:t.firstChild,o,a),bt(r,e,a)}ke=mt.slice,E={__e:function(e,t,n,o){for(var s,r,a;t=t.__;)if((s=t.__c)&&!s.__)try{if((r=s.constructor)&&r.getDerivedStateFromError!=null&&(s.setState(r.getDerivedStateFromError(e)),a=s.__d),s.componentDidCatch!=null&&(s.componentDidCatch(e,o||{}),a=s.__d),a)return s.__E=s}catch(l){e=l}throw e}},dt=0,Wn=function(e){return e!=null&&e.constructor==null},le.prototype.setState=function(e,t){var n;n=this.__s!=null&&this.__s!=this.state?this.__s:this.__s=z({},this.state),typeof e=="function"&&(e=e(z({},n),this.props)),e&&z(n,e),e!=null&&this.__v&&(t&&this._sb.push(t),ct(this))},le.prototype.forceUpdate=function(e){this.__v&&(this.__e=!0,e&&this.__h.push(e),ct(this))},le.prototype.render=Ee,Q=[],_t=typeof Promise=="function"?Promise.prototype.then.bind(Promise.resolve()):setTimeout,$t=function(e,t){return e.__v.__b-t.__v.__b},we.__r=0,ft=/(PointerCapture)$|Capture$/i,je=0,Ie=pt(!1),Le=pt(!0),Vn=0;var xt=function(e,t,n,o){var s;t[0]=0;for(var r=1;r<t.length;r++){var a=t[r++],l=t[r]?(t[0]|=a?1:2,n[t[r++]]):t[++r];a===3?o[0]=l:a===4?o[1]=Object.assign(o[1]||{},l):a===5?(o[1]=o[1]||{})[t[++r]]=l:a===6?o[1][t[++r]]+=l+"":a?(s=e.apply(l,xt(e,l,n,["",null])),o.push(s),l[0]?t[0]|=2:(t[r-2]=0,t[r]=s)):o.push(l)}return o},kt=new Map;function St(e){var t=kt.get(this);return t||(t=new Map,kt.set(this,t)),(t=xt(this,t.get(e)||(t.set(e,t=(function(n){for(var o,s,r=1,a="",l="",p=[0],c=function(_){r===1&&(_||(a=a.replace(/^\s*\n\s*|\s*\n\s*$/g,"")))?p.push(0,_,a):r===3&&(_||a)?(p.push(3,_,a),r=2):r===2&&a==="..."&&_?p.push(4,_,0):r===2&&a&&!_?p.push(5,0,!0,a):r>=5&&((a||!_&&r===5)&&(p.push(r,0,a,s),r=6),_&&(p.push(r,_,0,s),r=6)),a=""},d=0;d<n.length;d++){d&&(r===1&&c(),c(d));for(var u=0;u<n[d].length;u++)o=n[d][u],r===1?o==="<"?(c(),p=[p],r=3):a+=o:r===4?a==="--"&&o===">"?(r=1,a=""):a=o+a[0]:l?o===l?l="":a+=o:o==='"'||o==="'"?l=o:o===">"?(c(),r=1):r&&(o==="="?(r=5,s=a,a=""):o==="/"&&(r<5||n[d][u+1]===">")?(c(),r===3&&(p=p[0]),r=p,(p=p[0]).push(2,0,r),r=0):o===" "||o==="	"||o===`
`||o==="\r"?(c(),r=2):a+=o),r===3&&a==="!--"&&(r=4,p=p[0])}return c(),p})(e)),t),arguments,[])).length>1?t:t[0]}var i=St.bind(Se);var ue,P,We,Et,pe=0,Nt=[],N=E,Tt=N.__b,At=N.__r,Ot=N.diffed,Dt=N.__c,Rt=N.unmount,Pt=N.__;function Ge(e,t){N.__h&&N.__h(P,e,pe||t),pe=0;var n=P.__H||(P.__H={__:[],__h:[]});return e>=n.__.length&&n.__.push({}),n.__[e]}function T(e){return pe=1,Yn(jt,e)}function Yn(e,t,n){var o=Ge(ue++,2);if(o.t=e,!o.__c&&(o.__=[n?n(t):jt(void 0,t),function(l){var p=o.__N?o.__N[0]:o.__[0],c=o.t(p,l);p!==c&&(o.__N=[c,o.__[1]],o.__c.setState({}))}],o.__c=P,!P.__f)){var s=function(l,p,c){if(!o.__c.__H)return!0;var d=o.__c.__H.__.filter(function(_){return!!_.__c});if(d.every(function(_){return!_.__N}))return!r||r.call(this,l,p,c);var u=o.__c.props!==l;return d.forEach(function(_){if(_.__N){var $=_.__[0];_.__=_.__N,_.__N=void 0,$!==_.__[0]&&(u=!0)}}),r&&r.call(this,l,p,c)||u};P.__f=!0;var r=P.shouldComponentUpdate,a=P.componentWillUpdate;P.componentWillUpdate=function(l,p,c){if(this.__e){var d=r;r=void 0,s(l,p,c),r=d}a&&a.call(this,l,p,c)},P.shouldComponentUpdate=s}return o.__N||o.__}function D(e,t){var n=Ge(ue++,3);!N.__s&&Mt(n.__H,t)&&(n.__=e,n.u=t,P.__H.__h.push(n))}function F(e){return pe=5,It(function(){return{current:e}},[])}function It(e,t){var n=Ge(ue++,7);return Mt(n.__H,t)&&(n.__=e(),n.__H=t,n.__h=e),n.__}function Lt(e,t){return pe=8,It(function(){return e},t)}function Xn(){for(var e;e=Nt.shift();)if(e.__P&&e.__H)try{e.__H.__h.forEach(Te),e.__H.__h.forEach(Ve),e.__H.__h=[]}catch(t){e.__H.__h=[],N.__e(t,e.__v)}}N.__b=function(e){P=null,Tt&&Tt(e)},N.__=function(e,t){e&&t.__k&&t.__k.__m&&(e.__m=t.__k.__m),Pt&&Pt(e,t)},N.__r=function(e){At&&At(e),ue=0;var t=(P=e.__c).__H;t&&(We===P?(t.__h=[],P.__h=[],t.__.forEach(function(n){n.__N&&(n.__=n.__N),n.u=n.__N=void 0})):(t.__h.forEach(Te),t.__h.forEach(Ve),t.__h=[],ue=0)),We=P},N.diffed=function(e){Ot&&Ot(e);var t=e.__c;t&&t.__H&&(t.__H.__h.length&&(Nt.push(t)!==1&&Et===N.requestAnimationFrame||((Et=N.requestAnimationFrame)||Zn)(Xn)),t.__H.__.forEach(function(n){n.u&&(n.__H=n.u),n.u=void 0})),We=P=null},N.__c=function(e,t){t.some(function(n){try{n.__h.forEach(Te),n.__h=n.__h.filter(function(o){return!o.__||Ve(o)})}catch(o){t.some(function(s){s.__h&&(s.__h=[])}),t=[],N.__e(o,n.__v)}}),Dt&&Dt(e,t)},N.unmount=function(e){Rt&&Rt(e);var t,n=e.__c;n&&n.__H&&(n.__H.__.forEach(function(o){try{Te(o)}catch(s){t=s}}),n.__H=void 0,t&&N.__e(t,n.__v))};var Ct=typeof requestAnimationFrame=="function";function Zn(e){var t,n=function(){clearTimeout(o),Ct&&cancelAnimationFrame(t),setTimeout(e)},o=setTimeout(n,35);Ct&&(t=requestAnimationFrame(n))}function Te(e){var t=P,n=e.__c;typeof n=="function"&&(e.__c=void 0,n()),P=t}function Ve(e){var t=P;e.__c=e.__(),P=t}function Mt(e,t){return!e||e.length!==t.length||t.some(function(n,o){return n!==e[o]})}function jt(e,t){return typeof t=="function"?t(e):t}var m="../evenkeel/v1",Ke="evenkeel-authorization",oe=class extends Error{constructor(t,n,o=[]){super(n),this.status=t,this.roles=o}},Ht=0,de=()=>Date.now()+Ht,_e=JSON.parse(sessionStorage.getItem(Ke)||"{}");function Ft(e){_e=e,sessionStorage.setItem(Ke,JSON.stringify(e))}function Ut(){_e={},sessionStorage.removeItem(Ke)}function ze(){return Object.keys(_e).length>0}function Bt(e,t){let n=new TextEncoder().encode(`${e}:${t}`);return{Authorization:`Basic ${btoa(String.fromCharCode(...n))}`}}function Wt(e){return{"X-Auth-Token":e}}async function qe(e,t,n,o=15e3){let s={Accept:"application/json",..._e};n!==void 0&&(s["Content-Type"]="application/json");let r;try{r=await fetch(t,{method:e,headers:s,body:n===void 0?void 0:JSON.stringify(n),credentials:"omit",cache:"no-store",signal:AbortSignal.timeout(o)})}catch(p){throw new oe(0,`no answer from this controller: ${p.message}`)}Qn(r);let a=await r.text(),l=a?qt(a):null;if(!r.ok)throw Gt(r,l);return l}function Qn(e){let t=Date.parse(e.headers.get("Date")||"");t&&Math.abs(t+500-de())>1e3&&(Ht=t+500-Date.now())}async function Vt(e,t,{told:n,at:o,signal:s,silentMs:r}){let a=new AbortController,l=()=>a.abort();s.addEventListener("abort",l);let p=setTimeout(l,r);try{let c=await fetch(e,{headers:{Accept:"text/event-stream","Last-Event-ID":String(t),..._e},credentials:"omit",cache:"no-store",signal:a.signal});if(!c.ok)throw Gt(c,qt(await c.text()));let d=c.body.pipeThrough(new TextDecoderStream).getReader(),u="";for(;;){let{done:_,value:$}=await d.read();if(_)return;clearTimeout(p),p=setTimeout(l,r);let k=(u+$).split(`

`);u=k.pop();let h=[];for(let b of k)for(let g of b.split(`
`))g.startsWith("id: ")&&o(Number(g.slice(4))),g.startsWith("data: ")&&h.push(JSON.parse(g.slice(6)));n(h)}}catch(c){throw c instanceof oe?c:new oe(0,`no answer from this controller: ${c.message}`)}finally{clearTimeout(p),s.removeEventListener("abort",l),a.abort()}}function Gt(e,t){let n=(e.headers.get("X-Needs-Role")||"").split(", ").filter(Boolean);return new oe(e.status,eo(t)||`HTTP ${e.status}`,n)}var V=e=>e.catch(t=>{if(t.status!==403)throw t;return{refused:t}}),Kt=(e,t,n)=>qe("POST",e,t,n),v=e=>qe("GET",e),zt=(e,t)=>qe("PUT",e,t);function qt(e){try{return JSON.parse(e)}catch{return null}}function eo(e){return e&&(e.faultstring||e.reason||e.error&&e.error.message||e.detail)}var Yt=new URLSearchParams(location.search).get("demo"),to="../demo/controls",no=2e3;async function Jt(e){let t=await fetch(to,{method:e?"POST":"GET",headers:{"X-Demo-Token":Yt,"Content-Type":"application/json"},body:e&&JSON.stringify(e),cache:"no-store"}),n=await t.json();if(!t.ok)throw new Error(n.reason||`HTTP ${t.status}`);return n}function Xt(){let[e,t]=T(null),[n,o]=T(""),[s,r]=T("");if(D(()=>{if(!Yt)return;let p=()=>Jt().then(t,()=>t(null));p();let c=setInterval(()=>document.hidden||p(),no);return()=>clearInterval(c)},[]),!e)return null;let a=n||e.agents[0].host,l=(p,c)=>i`<button
      type="button"
      disabled=${!e.offered}
      onClick=${()=>Jt({action:c,host:a}).then(d=>(t(d),r("")),d=>r(d.message))}
    >
      ${p}
    </button>`;return i`<section class="demo" aria-label="Demo">
    <strong>Demo</strong>
    <label
      >Agent${" "}
      <select value=${a} onChange=${p=>o(p.target.value)}>
        ${e.agents.map(p=>i`<option value=${p.host}>${p.host}, ${p.state}</option>`)}
      </select></label
    >
    ${l("Kill it","kill")} ${l("Freeze it","freeze")} ${l("Cut the device off","cut")} ${l("Heal everything","heal")}
    <span role="status">${s||(e.offered?`Device: ${e.device}`:"It tells its story first; the buttons come at its end.")}</span>
  </section>`}var oo=1e4,ro=2e3,so=200,ao=100,io=4e4,Zt=[1e3,1e3,2e3,5e3];function Qt(){let[e,t]=T({events:[],error:null,newest:0,connected:!1});return D(()=>{let n=new AbortController,o=null,s=()=>document.hidden&&o&&o.abort();document.addEventListener("visibilitychange",s),n.signal.addEventListener("abort",()=>{document.removeEventListener("visibilitychange",s),o&&o.abort()});let r=null,a=0,l=c=>{a=0,t(d=>co(d,c))};async function p(){for(;!n.signal.aborted;){if(await lo(),n.signal.aborted)return;o=new AbortController;try{if(r===null){let c=(await v(`${m}/events?limit=${ao}&newest=true`)).events;r=c.length?c[0].id-1:0,l(c)}await Vt(`${m}/events`,r,{told:l,at:c=>r=c,signal:o.signal,silentMs:io})}catch(c){if(n.signal.aborted)return;if(o.signal.aborted)continue;if(t(d=>({...d,error:c,connected:!1})),c.status===401||c.status===403)return}await new Promise(c=>setTimeout(c,Zt[Math.min(a++,Zt.length-1)]))}}return p(),()=>n.abort()},[]),e}function lo(){return document.hidden?new Promise(e=>document.addEventListener("visibilitychange",e,{once:!0})):Promise.resolve()}function co(e,t){let n=new Set(e.events.map(r=>r.id)),o=t.filter(r=>!n.has(r.id));return!o.length&&e.connected&&!e.error?e:{events:[...o,...e.events].sort((r,a)=>a.id-r.id).slice(0,so),error:null,connected:!0,newest:e.newest+o.length}}function A(e,t,n=[]){let[o,s]=T({data:null,error:null,at:0}),r=F(0),a=F(0),l=Lt(async()=>{let p=++r.current;a.current=Date.now();try{let c=await e();p===r.current&&s({data:c,error:null,at:de()})}catch(c){p===r.current&&s(d=>({...d,error:c}))}},n);return D(()=>(a.current=0,()=>{r.current+=1}),[l]),D(()=>{let p=setTimeout(l,Math.max(0,a.current+ro-Date.now())),c=setInterval(()=>document.hidden||l(),oo);return()=>{clearTimeout(p),clearInterval(c)}},[l,t]),{...o,again:l}}var Je="evenkeel-moved";function en(){let[e,t=""]=location.hash.replace(/^#\/?/,"").split("?");return{parts:e.split("/").map(uo),query:Object.fromEntries(new URLSearchParams(t))}}function uo(e){try{return decodeURIComponent(e)}catch{return e}}function tn(){let[e,t]=T(en);return D(()=>{let n=()=>t(en());for(let o of["hashchange",Je])addEventListener(o,n);return()=>{for(let o of["hashchange",Je])removeEventListener(o,n)}},[]),e}function L(e,t={}){let n=new URLSearchParams(Object.entries(t).filter(([,o])=>o));return`#/${e}${n.size?`?${n}`:""}`}function nn(e,{instead:t=!1}={}){history[t?"replaceState":"pushState"](null,"",e),dispatchEvent(new Event(Je))}var po=new Set(["ACTIVE","ONLINE","up","connected","reached","served","closed"]),_o=new Set(["DEGRADED","DRAINING"]),$o=new Set(["ERROR","OFFLINE","silent","forced_down","unserved","halted","out of reach","failed"]),$e=e=>po.has(e)?"good":$o.has(e)?"bad":_o.has(e)?"unsure":"other";function w({value:e}){let t=$e(e),n={good:"●",bad:"▲",unsure:"◆",other:"◌"}[t];return i`<span class="status ${t}"><span aria-hidden="true">${n}</span> ${e}</span>`}var C=e=>e&&/^([0-9a-f]{8}-|[0-9a-f]{32}$)/.test(e)?e.slice(0,8):e;function q(e){if(!e)return"";let t=Math.max(0,(de()-Date.parse(e.endsWith("Z")?e:`${e}Z`))/1e3);return t<120?`${Math.round(t)} s`:t<7200?`${Math.round(t/60)} min`:t<172800?`${Math.round(t/3600)} h`:`${Math.round(t/86400)} d`}var on=e=>`${Math.max(0,e/1e3).toFixed(1)} s`,fe=e=>e.replace("T"," ").slice(0,19);function B(e){for(let[t,n]of[["G",1e9],["M",1e6],["k",1e3]])if(e>=n)return`${(e/n).toPrecision(3)} ${t}`;return e>0&&e<.001?"< 0.001":e>=10||Number.isInteger(e)?String(Math.round(e)):e.toPrecision(2)}function ee({facts:e}){return i`<dl class="facts">
    ${e.filter(([,t])=>t!=="").map(([t,n])=>i`<div><dt>${t}</dt><dd>${n}</dd></div>`)}
  </dl>`}function x({command:e,path:t,method:n="GET"}){return i`<p class="also">
    The same: <code>${e}</code>${t&&i` · <code>${n} ${t.replace(/^\.\./,"")}</code>`}
  </p>`}function S({error:e,loading:t}){return e&&e.status===403?i`<${me} error=${e} />`:e?i`<p class="failure" role="alert">${e.message}</p>`:t&&i`<p>Loading…</p>`}function me({error:e}){return i`<p class="empty">${e.roles.length?`Needs the role ${e.roles.join(" or ")}.`:e.message}</p>`}function j({caption:e,columns:t,rows:n,empty:o,order:s}){return n?n.length?i`<div class="scroll" tabindex="0" role="region" aria-label=${e}>
    <table>
      <caption>
        ${e}
      </caption>
      <thead>
        <tr>
          ${t.map(([r,,a])=>i`<${fo} title=${r} sortKey=${a} order=${s} />`)}
        </tr>
      </thead>
      <tbody>
        ${n.map(r=>i`<tr key=${r.id||r.name}>${t.map(([a,l])=>i`<td data-title=${a}>${l(r)}</td>`)}</tr>`)}
      </tbody>
    </table>
  </div>`:i`<p class="empty">${o}</p>`:null}function fo({title:e,sortKey:t,order:n}){if(!t||!n)return i`<th scope="col">${e}</th>`;let o=n.key===t?n.descending?"descending":"ascending":null,s={ascending:"▲",descending:"▼"}[o]||"";return i`<th scope="col" aria-sort=${o}>
    <a class="order" href=${n.link(t,o==="ascending")}>${e} <span aria-hidden="true">${s}</span></a>
  </th>`}function he({text:e,about:t}){let[n,o]=T(!1);async function s(){await mo(e),o(!0),setTimeout(()=>o(!1),2e3)}return i`<button type="button" class="copy" onClick=${s} aria-label=${`Copy ${t}`}><span role="status">${n?"Copied":"Copy"}</span></button>`}async function mo(e){if(navigator.clipboard)return navigator.clipboard.writeText(e);let t=document.createElement("textarea");t.value=e,document.body.append(t),t.select(),document.execCommand("copy"),t.remove()}function ge({label:e,about:t,question:n,path:o,body:s,command:r,done:a,send:l=zt}){let[p,c]=T(!1),[d,u]=T(null),_=F(null);D(()=>{p&&_.current.showModal()},[p]);async function $(){try{await l(o,s),u(null),c(!1),a()}catch(k){u(k)}}return i`<button type="button" onClick=${()=>c(!0)} aria-label=${t?`${e} ${t}`:null}>${e}</button>
    ${p&&i`<dialog ref=${_} onClose=${()=>c(!1)} aria-label=${t?`${e} ${t}`:e}>
      <p>${n}</p>
      ${r&&i`<p class="also">The same: <code>${r}</code></p>`}
      <${S} error=${d} />
      <button type="button" class="confirm" onClick=${$}>${e}</button>
      <button type="button" onClick=${()=>c(!1)}>Cancel</button>
    </dialog>`}`}var Ae=50,rn=e=>`${e.environment}/${e.group_number}`,sn=e=>`${e.devices.filter(t=>t.reachable).length} of ${e.devices.length}`;function an({live:e}){let{data:t,error:n,at:o,again:s}=A(async()=>(await v(`${m}/agents`)).agents,e.newest);return i`<h1>Agents</h1>
    <${S} error=${n} loading=${!t} />
    <${j} caption="Agents" columns=${[["Host",a=>i`<a href="#/agents/${a.id}">${a.host}</a>`],["Device group",rn],["State",a=>i`<${w} value=${a.state} />`],["Lease",a=>ln(a,o)],["Last report",a=>q(a.reported_at)],["Shards",a=>a.acting_shards],["At home",a=>a.home_shards],["Queue",a=>a.queue_depth],["Devices in reach",sn],["Why not",a=>a.waiting_reason||a.away_reason],["Action",a=>i`<${cn} agent=${a} done=${s} />`]]} rows=${t} empty="No agent has registered yet. evenkeel-agent on a host that reaches the devices does." />
    <${x} command="evenkeel agent list" path="${m}/agents" />`}function ln(e,t){return e.alive&&e.session_expires_at?`${on(Date.parse(`${e.session_expires_at}Z`)-t)} left`:e.silent_since?`silent for ${q(e.silent_since)}`:"none"}function cn({agent:e,done:t}){let n=e.admin_state_up;return i`<${ge}
    label=${n?"Drain":"Undrain"}
    about=${e.host}
    question=${n?`Drain ${e.host}? Its ${e.acting_shards} shards are handed over to other agents, and it gets no new ones.`:`Put ${e.host} back into service? Its shards come home.`}
    path="${m}/agents/${e.id}/${n?"drain":"undrain"}"
    command="evenkeel agent ${n?"drain":"undrain"} ${e.host}"
    done=${t}
  />`}function un({id:e,live:t}){async function n(){let[p,c,d]=await Promise.all([v(`${m}/agents/${e}`),v(`${m}/shards?agent_id=${e}`),V(v(`${m}/agents/${e}/loadbalancers?limit=${Ae}`))]);return{agent:p.agent,shards:c.shards.filter(u=>u.project_id),balancers:d}}let{data:o,error:s,at:r,again:a}=A(n,t.newest,[e]),l=o&&o.agent;return i`<p><a href="#/agents">All agents</a></p>
    <h1>${l?l.host:C(e)}</h1>
    <${S} error=${s} loading=${!o} />
    ${l&&i`<${ee}
        facts=${[["State",i`<${w} value=${l.state} />`],["Device group",rn(l)],["Lease",ln(l,r)],["Last report",q(l.reported_at)],["Shards that it acts for",l.acting_shards],["Shards whose home it is",l.home_shards],["Queue",l.queue_depth],["Devices in reach",sn(l)],["Why shards wait",l.waiting_reason||l.away_reason],["Device driver",l.device_driver]]}
      />
      <p class="actions"><${cn} agent=${l} done=${a} />
      ${l.away_shards>0&&i`<${ge}
        label="Fail back"
        about=${l.host}
        question="Hand the ${l.away_shards} shards whose home is ${l.host} back to it?"
        path="${m}/agents/${e}/failback"
        command="evenkeel agent failback ${l.host}"
        done=${a}
      />`}</p>
      <h2>Devices as it sees them</h2>
      <${j}
        caption="Devices"
        columns=${[["Device",p=>p.own_name||p.name],["Address",p=>p.name],["Reached",p=>i`<${w} value=${p.reachable?"reached":"out of reach"} />`],["Failover",p=>p.failover_state],["Config sync",p=>p.sync_state],["Version",p=>p.version],["Problem",p=>p.problem]]}
        rows=${l.devices}
        empty="It has not reported a device yet."
      />
      <h2>Shards</h2>
      <${j}
        caption="Shards"
        columns=${[["Tenant",p=>i`<span title=${p.project_id}>${C(p.project_id)}</span>`],["Epoch",p=>p.epoch],["It is",p=>ho(p,e)],["Served",p=>i`<${w} value=${p.served?"served":"unserved"} />`]]}
        rows=${o.shards.slice(0,Ae)}
        empty="It has no tenant."
      />
      ${o.shards.length>Ae&&i`<p>${o.shards.length-Ae} more: <code>evenkeel shard list --agent ${l.host}</code></p>`}
      <h2>Load balancers</h2>
      <${S} error=${o.balancers.refused} />
      <${j}
        caption="Load balancers"
        columns=${[["Name",p=>i`<a href="#/loadbalancers/${p.id}">${p.name||C(p.id)}</a>`],["VIP",p=>p.vip_address],["Provisioning",p=>i`<${w} value=${p.provisioning_status} />`],["Operating",p=>i`<${w} value=${p.operating_status} />`]]}
        rows=${o.balancers.loadbalancers}
        empty="None."
      />`}
    <${x} command="evenkeel agent show ${l?l.host:e}" path="${m}/agents/${e}" />`}function ho(e,t){let n=[];return e.acting_agent_id===t&&n.push("acting agent"),e.home_agent_id===t&&n.push("home"),n.join(", ")}var go=async()=>(await v(`${m}/topology`)).topology;function pn({live:e}){let{data:t,error:n}=A(go,e.newest),o=t&&t.groups.flatMap(r=>r.devices.map(a=>({...a,id:`${r.environment}/${r.group_number}/${a.name}`,group:r})));return i`<h1>Devices</h1>
    <p>What agents say of the devices of their group: of several the one that reaches it.</p>
    <${S} error=${n} loading=${!t} />
    <${j} caption="Devices" columns=${[["Device",r=>r.own_name||r.name],["Address",r=>r.name],["Device group",r=>`${r.group.environment}/${r.group.group_number}`],["Type",r=>r.group.device_driver],["State",r=>i`<${w} value=${r.reachable?"reached":"out of reach"} />`],["Failover",r=>r.failover_state],["Config sync",r=>r.sync_state],["Version",r=>r.version],["Reached by",r=>r.reached_by.join(", ")],["Not reached by",r=>r.missed_by.join(", ")],["Problem",r=>r.problem]]} rows=${o} empty="No agent has reported a device yet." />
    <${x} command="evenkeel device list" path="${m}/topology" />`}function dn({live:e}){let{data:t,error:n}=A(async()=>(await v(`${m}/controllers`)).controllers,e.newest);return i`<h1>Controllers</h1>
    <p>They are all alike and keep nothing: any of them may end. A silent one is listed for ten minutes.</p>
    <${S} error=${n} loading=${!t} />
    <${j} caption="Controllers" columns=${[["URL",s=>s.url],["Host",s=>s.host],["State",s=>i`<${w} value=${s.alive?"up":"silent"} />`],["Message broker",s=>i`<${w} value=${s.message_broker==="connected"?"connected":"out of reach"} /> ${s.message_broker==="connected"?"":s.message_broker}`],["Version",s=>s.version],["Up for",s=>s.alive?q(s.started_at):""],["Seen",s=>`${q(s.seen_at)} ago`]]} rows=${t} empty="None has been seen yet." />
    <${x} command="evenkeel controller list" path="${m}/controllers" />`}function _n({live:e}){let{data:t,error:n,again:o}=A(async()=>(await v(`${m}/environments`)).environments,e.newest);return i`<h1>Environments</h1>
    <${S} error=${n} loading=${!t} />
    <${j} caption="Environments" columns=${[["Name",r=>r.name],["Device driver",r=>r.device_driver],["Failback",r=>r.failback],["Circuit breaker",r=>r.halted?i`<${w} value="halted" /> ${r.halted}`:i`<${w} value="closed" />`],["Opens at",r=>`${r.breaker_agents} agents and ${Math.round(r.breaker_share*100)} % silent`],["Action",r=>r.halted&&i`<${vo} row=${r} done=${o} />`]]} rows=${t} empty="There is no environment yet." />
    <${x} command="evenkeel environment list" path="${m}/environments" />`}function vo({row:e,done:t}){return i`<${ge}
    label="Resume"
    about=${e.name}
    command="evenkeel environment resume ${e.name}"
    question="Are the silent agents of ${e.name} lost for good? Their shards move to others."
    path="${m}/environments/${e.name}/resume"
    done=${t}
  />`}function bo({request_id:e,client_address:t}){return e?`from ${t}, ${e}`:null}function Ye({events:e}){return e.length?i`<ol class="events">
    ${e.map(t=>i`<li key=${t.id}>
        <time>${t.at.replace("T"," ").slice(0,19)}</time>${" "}<span class="kind">${t.kind}</span>${" "}
        <span title=${bo(t)}>${t.load_balancer_id?i`<a href="#/loadbalancers/${t.load_balancer_id}">${t.text}</a>`:t.text}</span>
      </li>`)}
  </ol>`:i`<p>No events yet.</p>`}function Xe({live:e,most:t}){return e.error&&e.error.status===403?i`<${me} error=${e.error} />`:i`<${Ye} events=${t?e.events.slice(0,t):e.events} />`}function $n({live:e}){return i`<h1>Events</h1>
    <p>New ones appear at the top, times are UTC.</p>
    <div aria-live="polite"><${Xe} live=${e} /></div>
    <${x} command="evenkeel events --follow" path="${m}/events?newest=true" />`}var J="../v2/lbaas",gn=50,yo=250,wo=["ERROR","PENDING_CREATE","PENDING_UPDATE","PENDING_DELETE","ACTIVE","DELETED"],ko=["ONLINE","OFFLINE","DEGRADED","ERROR","DRAINING","NO_MONITOR"],xo=/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,So=/^[0-9.]{7,15}$|:/,vn=["q","provisioning_status","operating_status","environment","group_number","project_id","held","sort","marker","page_reverse"];function fn(e){let t=vn.filter(n=>e[n]).map(n=>[n,e[n]]);return`${m}/loadbalancers?${new URLSearchParams([...t,["limit",gn]])}`}function mn({q:e,environment:t,group_number:n,held:o,...s}){let r=new URLSearchParams({...s,limit:gn});return t&&r.set("provider",t),e&&r.set(xo.test(e)?"id":So.test(e)?"vip_address":"name",e),`${J}/loadbalancers?${r}`}async function Eo(e){let t=await V(v(fn(e)));if(!t.refused)return{...t,path:fn(e)};let n=await v(mn(e)),o=n.loadbalancers.map(s=>({...s,environment:s.provider,group_number:null}));return{...n,loadbalancers:o,path:mn(e),own:!0}}function bn({live:e,query:t}){let n=JSON.stringify(t),{data:o,error:s}=A(()=>Eo(t),e.newest,[n]),r=(d,u)=>nn(L("loadbalancers",{...t,marker:"",page_reverse:"",...d}),u),[a="",l]=(t.sort||"").split(":"),p={key:a,descending:l==="desc",link:(d,u)=>L("loadbalancers",{...t,marker:"",page_reverse:"",sort:`${d}:${u?"desc":"asc"}`})},c=[["Name",d=>i`<a href="#/loadbalancers/${d.id}">${d.name||C(d.id)}</a>${d.held&&i` <span class="tag">held</span>`}`,"name"],["Id",d=>i`<code title=${d.id}>${C(d.id)}</code>`],["VIP",d=>d.vip_address,"vip_address"],["Provisioning",d=>i`<${w} value=${d.provisioning_status} />`,"provisioning_status"],["Operating",d=>i`<${w} value=${d.operating_status} />`,"operating_status"],["Place",d=>d.group_number===null?d.environment:`${d.environment}/${d.group_number}`],["Project",d=>i`<a title=${d.project_id} href=${L("loadbalancers",{project_id:d.project_id})}>${C(d.project_id)}</a>`],["Age",d=>q(d.created_at),"created_at"],["Reason",d=>d.status_reason||d.operating_reason]];return i`<div class="heading"><h1>Load balancers</h1>${o&&i`<${To} data=${o} />`}</div>
    <${Oo} query=${t} ask=${r} live=${e} />
    <${S} error=${s} loading=${!o} />
    ${o&&i`<${j} caption="Load balancers" columns=${c} rows=${o.loadbalancers} empty="None is like that." order=${p} />
      <${Ao} links=${o.loadbalancers_links||[]} query=${t} />
      <${x} command="evenkeel loadbalancer list" path=${o.path} />`}`}function To({data:e}){if(e.own)return null;let t=e.total.toLocaleString("en");return i`<p class="total" role="status">${e.total_is_exact?t:`more than ${t}`} ${e.total===1?"load balancer":"load balancers"}</p>`}function Ao({links:e,query:t}){if(!e.length)return null;let n=(s,r)=>{let a=e.find(d=>d.rel===s);if(!a)return i`<span class="away">${r}</span>`;let l=new URL(a.href,location.href).searchParams,[p,c]=[l.get("marker"),l.get("page_reverse")||""];return i`<a rel=${s==="next"?"next":"prev"} href=${L("loadbalancers",{...t,marker:p,page_reverse:c})}>${r}</a>`},o=L("loadbalancers",{...t,marker:"",page_reverse:""});return i`<nav class="pages" aria-label="Pages">
    ${t.marker?i`<a href=${o}>First</a>`:i`<span class="away">First</span>`} ${n("previous","Previous")} ${n("next","Next")}
  </nav>`}function Oo({query:e,ask:t,live:n}){let o=A(async()=>(await V(v(`${m}/environments`))).environments||[],n.newest).data||[],s=Do(e.environment),r=(l,p,c,d={})=>i`<label
      >${l}
      <select value=${e[p]||""} onChange=${u=>t({[p]:u.target.value,...d})}>
        <option value="">any</option>
        ${c.map(u=>Array.isArray(u)?i`<option value=${u[0]}>${u[1]}</option>`:i`<option>${u}</option>`)}
      </select></label
    >`,a=vn.some(l=>e[l]&&l!=="sort"&&l!=="marker"&&l!=="page_reverse");return i`<form class="search" role="search" onSubmit=${l=>l.preventDefault()}>
    <${hn} label="Search" type="search" wide value=${e.q||""} hint="name, VIP, member's address, project or id" told=${l=>t({q:l},{instead:!!e.q&&!!l})} />
    ${r("Provisioning","provisioning_status",wo)} ${r("Operating","operating_status",ko)}
    ${o.length>0&&r("Environment","environment",o.map(l=>l.name),{group_number:""})}
    ${e.environment&&r("Device group","group_number",s)}
    <${hn} label="Project" value=${e.project_id||""} hint="whole id" told=${l=>t({project_id:l})} />
    ${r("Switched over","held",[["false","yes"],["true","no: held"]])}
    ${a&&i`<a class="clear" href=${L("loadbalancers",{sort:e.sort})}>Clear</a>`}
  </form>`}function Do(e){return A(async()=>{if(!e)return[];let{agents:n=[]}=await V(v(`${m}/agents?environment=${encodeURIComponent(e)}`));return[...new Set(n.map(o=>o.group_number))].sort((o,s)=>o-s).map(String)},0,[e]).data||[]}function hn({label:e,value:t,hint:n,told:o,wide:s,type:r="text"}){let[a,l]=T(t),p=F(0),c=F(t);D(()=>{t!==c.current&&l(t),c.current=t},[t]);function d(u){let _=u.target.value;l(_),clearTimeout(p.current),p.current=setTimeout(()=>{c.current=_.trim(),o(c.current)},yo)}return D(()=>()=>clearTimeout(p.current),[]),i`<label class=${s?"wide":""}>${e} <input type=${r} value=${a} onInput=${d} placeholder=${n} maxlength="255" spellcheck="false" autocomplete="off" /></label>`}var Ze={listener:["listener","listener","listener",e=>`listeners/${e}`],pool:["pool","pool","pool",e=>`pools/${e}`],member:["member","member","member",(e,t)=>`pools/${t}/members/${e}`],healthmonitor:["health monitor","healthmonitor","healthmonitor",e=>`healthmonitors/${e}`],l7policy:["L7 policy","l7policy","l7policy",e=>`l7policies/${e}`],rule:["L7 rule","rule","l7rule",(e,t)=>`l7policies/${t}/rules/${e}`]},Qe={listeners:"listener",pools:"pool",members:"member",l7policies:"l7policy",rules:"rule"},wn=new Set(["member","rule"]),Ro=new Set(["provisioning_status","operating_status"]),et=(e,t,n,o)=>`#/loadbalancers/${e}/${t}/${n}${wn.has(t)?`/${o}`:""}`;function kn(e){let t=new Map(e.pools.map(s=>[s.id,s])),n=new Set,o=e.listeners.map(s=>{let r=new Set([s.default_pool_id,...s.l7policies.map(a=>a.redirect_pool_id)]);for(let a of r)n.add(a);return{...s,pools:[...r].filter(a=>t.has(a)).map(a=>t.get(a))}});return{...e,listeners:o,pools:e.pools.filter(s=>!n.has(s.id))}}function tt({node:e,kind:t,root:n,parent:o}){let s=Object.entries(Qe).flatMap(([l,p])=>(e[l]||[]).map(c=>[p,c]));e.health_monitor&&s.push(["healthmonitor",e.health_monitor]);let r=e.address?` ${e.address}:${e.protocol_port}`:"",a=e.name||e.type||C(e.id);return i`<ul class="tree">
    <li>
      <span class="kind">${t?Ze[t][0]:"load balancer"}</span>${" "}
      ${t?i`<a href=${et(n,t,e.id,o)}>${a}${r}</a>`:a}${" "}
      <${w} value=${e.provisioning_status} />${e.status_reason&&` ${e.status_reason}`}${e.operating_status&&i` <${w} value=${e.operating_status} />`}
      ${s.map(([l,p])=>i`<${tt} node=${p} kind=${l} root=${n} parent=${e.id} />`)}
    </li>
  </ul>`}function xn({root:e,kind:t,id:n,parent:o,live:s}){let[r,a,l,p]=Ze[t]||Ze.listener,{data:c,error:d}=A(async()=>(await v(`${J}/${p(n,o)}`))[a],s.newest,[t,n,o]);return i`<p><a href="#/loadbalancers/${e}">The load balancer</a></p>
    <h1>${r} ${c?c.name||C(n):C(n)}</h1>
    <${S} error=${d} loading=${!c} />
    ${c&&i`<${ee} facts=${Object.entries(c).map(([u,_])=>[u,Po(u,_,e,n,c)])} />`}
    <${x}
      command="openstack loadbalancer ${l} show ${wn.has(t)?`${o} `:""}${n}"
      path="${J}/${p(n,o)}"
    />`}var yn={default_pool_id:"pool",redirect_pool_id:"pool",healthmonitor_id:"healthmonitor",listener_id:"listener",pool_id:"pool"};function Po(e,t,n,o){return Ro.has(e)?i`<${w} value=${t} />`:t==null||t===""?"–":yn[e]?i`<a href=${et(n,yn[e],t,o)}>${C(t)}</a>`:Array.isArray(t)&&Qe[e]&&t.every(s=>s&&s.id)?t.length?t.map(s=>i`<a href=${et(n,Qe[e],s.id,o)}>${C(s.id)}</a>${" "}`):"none":typeof t=="object"?JSON.stringify(t)==="[]"?"none":i`<code>${JSON.stringify(t)}</code>`:String(t)}var Sn=240,nt=60,En=3;function Co({title:e,figures:t,points:n}){let o=Object.keys(t),s=u=>n.map((_,$)=>[$,_[u]]).filter(([,_])=>_!=null),r=o.map(u=>[u,s(u)]);if(!r.some(([,u])=>u.length))return null;let a=Math.max(1e-9,...r.flatMap(([,u])=>u.map(([,_])=>_))),l=u=>(u*Sn/Math.max(1,n.length-1)).toFixed(1),p=u=>(nt-2-u/a*(nt-6)).toFixed(1),c=u=>u.length>1?u.map(([_,$])=>`${l(_)},${p($)}`).join(" "):`${l(u[0][0])-En},${p(u[0][1])} ${+l(u[0][0])+En},${p(u[0][1])}`,d=r.filter(([,u])=>u.length).map(([u,_])=>`${t[u]&&`${t[u]} `}${B(_[_.length-1][1])}`).join(" ");return i`<figure class="chart">
    <figcaption>${e} <strong>${d}</strong></figcaption>
    <svg viewBox="0 0 ${Sn} ${nt}" role="img" aria-label="${e}, last ${d}, at most ${B(a)}" preserveAspectRatio="none">
      ${r.flatMap(([,u],_)=>No(u).map($=>i`<polyline class="series-${_}" points=${c($)} />`))}
    </svg>
  </figure>`}function No(e){let t=[];for(let n of e){let o=t[t.length-1];o&&o[o.length-1][0]===n[0]-1?o.push(n):t.push([n])}return t}var Tn=({lines:e,points:t})=>i`<div class="charts">${e.map(([n,o])=>i`<${Co} key=${n} title=${n} figures=${o} points=${t} />`)}</div>`;var Io=[["Connections per second",{connections:""}],["Open connections",{active_connections:""}],["Bytes per second",{bytes_in:"in",bytes_out:"out"}],["Errors per second",{request_errors:""}]],Lo=[...Io,["Members online",{members_online:"",members:"of"}]];function An({id:e,turn:t}){let n=`${m}/loadbalancers/${e}/series`,{data:o,error:s}=A(()=>v(n),t,[e]);if(s&&s.status===403)return i`<h2>Traffic</h2><${me} error=${s} />`;if(!o||!o.points||o.points.length<2)return null;let r=o.points[0].at.slice(11,16);return i`<h2>Traffic since ${r} UTC</h2>
    <${Tn} lines=${Lo} points=${o.points} />
    <${x} command="evenkeel loadbalancer series ${e}" path=${n} />`}function On({id:e,live:t}){async function n(){let[r,a,l,p,c,d]=await Promise.all([v(`${J}/loadbalancers/${e}`),v(`${J}/listeners?loadbalancer_id=${e}&fields=protocol&fields=protocol_port&fields=name`),V(v(`${m}/loadbalancers/${e}/tree`)),V(v(`${m}/loadbalancers/${e}/agent`)),V(v(`${m}/loadbalancers/${e}/history`)),V(v(`${m}/events?object_id=${e}&newest=true&limit=20`))]);return{root:r.loadbalancer,listeners:a.listeners,tree:l.refused?l:kn(l.tree),hosting:p.refused?p:p.hosting,history:c,events:d.refused?d:d.events.slice().reverse()}}let{data:o,error:s}=A(n,t.newest,[e]);return i`<p><a href="#/loadbalancers">All load balancers</a></p>
    <h1>${o?o.root.name||C(e):C(e)}</h1>
    <${S} error=${s} loading=${!o} />
    ${o&&i`<${Ho} data=${o} id=${e} />
      <${An} id=${e} turn=${o.hosting.applied_revision} />
      <h2>Objects</h2>
      ${o.tree.refused?i`<${S} error=${o.tree.refused} />`:i`<${tt} node=${o.tree} root=${e} />`}
      <${x} command="evenkeel loadbalancer tree ${e}" path="${m}/loadbalancers/${e}/tree" />
      <${Bo} id=${e} />
      <${Vo} history=${o.history} id=${e} />
      <h2>Events</h2>
      ${o.events.refused?i`<${S} error=${o.events.refused} />`:i`<${Ye} events=${o.events} />`}`}
    <${x} command="evenkeel explain ${e}" path="${m}/loadbalancers/${e}/agent" />`}var Mo=e=>e.map(t=>`${t.protocol} ${t.protocol_port}${t.name&&` (${t.name})`}`).join(", ")||"none",jo=e=>i`<code>${e}</code> <${he} text=${e} about="the id" />`;function Ho({data:{root:e,hosting:t,listeners:n},id:o}){if(t.refused)return i`<${Fo} root=${e} /><${S} error=${t.refused} />`;let s=t.revision-t.applied_revision;return i`<${ee}
    facts=${[["Id",jo(o)],["VIP",e.vip_address],["Listeners",Mo(n)],["Environment",t.shard?`${t.shard.environment}, device group ${t.shard.group_number}`:`${e.provider}, not placed yet`],["Project",i`<a href=${L("loadbalancers",{project_id:e.project_id})}>${e.project_id}</a>`],["Flavor",e.flavor_id||""],["Availability zone",e.availability_zone||""],["Provisioning",i`<${w} value=${t.provisioning_status} /> ${t.status_reason}`],["Operating",i`<${w} value=${t.operating_status} /> ${t.operating_reason}`],["Desired revision",t.revision],["On the devices",`${t.applied_revision}${s?` (${s} behind)`:" (the same)"}`],["Written by",t.acting?i`<a href="#/agents/${t.acting.id}">${t.acting.host}</a>, epoch ${t.shard.epoch}`:"no agent"],["Home",t.home?i`<a href="#/agents/${t.home.id}">${t.home.host}</a>`:"none"],["Before it in line",t.ahead]]}
  />
  ${t.remedy&&i`<p class="problem">What helps: <code>${t.remedy}</code> <${he} text=${t.remedy} about="what helps" /></p>`}`}function Fo({root:e}){return i`<${ee}
    facts=${[["VIP",e.vip_address],["Project",e.project_id],["Provisioning",i`<${w} value=${e.provisioning_status} /> ${e.status_reason}`],["Operating",i`<${w} value=${e.operating_status} />`]]}
  />`}var Uo=3e4;function Bo({id:e}){let[t,n]=T({plan:null,error:null,asking:!1});async function o(){n({plan:null,error:null,asking:!0});try{n({plan:(await Kt(`${m}/loadbalancers/${e}/plan`,void 0,Uo)).plan,error:null,asking:!1})}catch(s){n({plan:null,error:s,asking:!1})}}return i`<section aria-labelledby="difference">
    <h2 id="difference">Desired and observed</h2>
    <p><button type="button" onClick=${o} disabled=${t.asking}>Compare with the devices</button>${" "}
      Its agent reads the devices and says what its next pass would change. Nothing is changed.</p>
    <div aria-live="polite">
      ${t.asking&&i`<p>Asking the agent…</p>`}
      <${S} error=${t.error} />
      ${t.plan&&t.plan.devices.map(s=>i`<${Wo} key=${s.device} device=${s} host=${t.plan.host} />`)}
    </div>
    <${x} command="evenkeel plan ${e}" path="${m}/loadbalancers/${e}/plan" method="POST" />
  </section>`}function Wo({device:e,host:t}){let n=e.operations.flatMap((s,r)=>(s.attributes.length?s.attributes:[{name:"",present:"",wanted:""}]).map((l,p)=>({id:`${r}.${p}`,step:s,attribute:l}))),o=[["Would",({step:s})=>s.verb],["Object",({step:s})=>i`${s.type} <strong>${s.name}</strong>${s.note&&` (${s.note})`}`],["Attribute",({attribute:s})=>s.name],["Observed",({attribute:s})=>s.present],["Desired",({attribute:s})=>s.wanted]];return i`<h3>${e.device}, read by ${t}</h3>
    ${e.problem&&i`<p class="failure">${e.problem}</p>`}
    ${!n.length&&!e.problem?i`<p class="status good"><span aria-hidden="true">●</span> It holds what is desired: no difference.</p>`:i`<${j} caption="Differences on ${e.device}" columns=${o} rows=${n} empty="" />`}
    ${e.more>0&&i`<p>${e.more} more objects differ.</p>`}`}function Vo({history:e,id:t}){let n=[["Revision",o=>o.revision],["Accepted",o=>i`<time>${fe(o.accepted_at)}</time>`],["By",o=>Go(o)],["Request",o=>o.request_id?i`<code>${o.request_id}</code>`:""],["Applied",o=>o.applied_at?i`<time>${fe(o.applied_at)}</time>`:o.problem?i`<${w} value="failed" /> ${o.problem}`:i`<${w} value="waiting" />`],["Seconds",o=>o.seconds===null?"":o.seconds.toFixed(2)],["By agent",o=>o.host?i`<a href="#/agents/${o.agent_id}">${o.host}</a>`:""],["Epoch",o=>o.epoch]];return i`<h2>History</h2>
    <${S} error=${e.refused} />
    <${j} caption="Revisions" columns=${n} rows=${e.history&&e.history.map(o=>({...o,id:o.revision}))} empty="No revision is known: it was made before revisions were kept." />
    <${x} command="evenkeel loadbalancer history ${t}" path="${m}/loadbalancers/${t}/history" />`}function Go(e){return e.request_id?`${e.user||"anybody: no authentication"} ${e.project_id&&`(${C(e.project_id)})`}`:"the controllers (certificate or network)"}function Dn({reason:e,done:t}){let[n,o]=T("password");function s(r){r.preventDefault();let a=new FormData(r.target);Ft(n==="password"?Bt(a.get("name"),a.get("password")):Wt(a.get("token"))),t()}return i`<main class="login">
    <h1>Even Keel</h1>
    <form onSubmit=${s}>
      ${e&&i`<p class="failure" role="alert">${e}</p>`}
      <fieldset>
        <legend>Log in with</legend>
        <label><input type="radio" name="kind" checked=${n==="password"} onChange=${()=>o("password")} /> a password</label>
        <label><input type="radio" name="kind" checked=${n==="token"} onChange=${()=>o("token")} /> a Keystone token</label>
      </fieldset>
      ${n==="password"?i`<label>Name <input name="name" autocomplete="username" required /></label>
            <label>Password <input name="password" type="password" autocomplete="current-password" required /></label>`:i`<label>Token <input name="token" type="password" autocomplete="off" required /></label>`}
      <button type="submit">Log in</button>
    </form>
  </main>`}var re=220,[se,ot,Oe,De]=[52,12,10,24],Rn=4,Re=36e5,Ko={1:Re/6,6:Re,24:4*Re},zo=420,qo=e=>Date.parse(`${e}Z`),rt=e=>new Date(e).toISOString().slice(11,16),te=e=>e!=null;function Jo(e){let t=10**Math.floor(Math.log10(e));return[1,2,4,5,10].find(n=>n*t>=e*.9999)*t}function Yo(){let e=F(null),[t,n]=T(600);return D(()=>{let o=new ResizeObserver(([s])=>n(Math.round(s.contentRect.width)));return o.observe(e.current),()=>o.disconnect()},[]),[e,t]}function Xo(e,t,n){let o=[],s=null;for(let r of e){if(!te(r[t])){s=null;continue}s!==null&&r.time-s<=n?o[o.length-1].push(r):o.push([r]),s=r.time}return o}function Zo(e,t,n,o,s){let r=[],a=n;for(let l of e)t.some(p=>te(l[p]))&&(l.time-a>s&&r.push([a,l.time]),a=l.time);return o-a>s&&r.push([a,o]),r}function Pn({title:e,unit:t,figures:n,points:o,hours:s,stepMs:r,to:a,sparse:l}){let[p,c]=Yo(),[d,u]=T(null),_=a-s*Re,$=o.map(f=>({...f,time:qo(f.at)})).filter(f=>f.time>=_),k=n.map(([f])=>f),h=r*1.75,b=$.flatMap(f=>k.map(O=>f[O])).filter(te),g=Math.max(0,...b),y=g>0?Jo(g):1,R=f=>se+(f-_)/(a-_)*(c-se-ot),M=f=>re-De-f/y*(re-Oe-De),H=d===null?null:$[Math.min(d,$.length-1)],W=l?$.filter(f=>te(f[k[0]])).pop():$[$.length-1],ae=l||"not known yet",Y=f=>k.some(O=>te(f[O]))?Z(f):"not known",Z=f=>n.map(([O,K])=>`${K} ${te(f[O])?`${B(f[O])} ${t}`:"not known"}`).join(", ");function ie(f){if(!$.length)return;let O=_+(f.clientX-f.currentTarget.getBoundingClientRect().left-se)/(c-se-ot)*(a-_);u($.reduce((K,ve,Bn)=>Math.abs(ve.time-O)<Math.abs($[K].time-O)?Bn:K,0))}function U(f){let O={ArrowLeft:-1,ArrowRight:1}[f.key];!O||!$.length||(f.preventDefault(),u(Math.max(0,Math.min($.length-1,(d===null?$.length:d)+O))))}let G=Ko[s]*(c<zo?2:1),at=[];for(let f=Math.ceil(_/G)*G;f<=a;f+=G)at.push(f);let it=`unknown-${e.replace(/\W/g,"")}`;return i`<figure class="big chart" ref=${p}>
    <figcaption>
      <span class="name">${e}</span>
      <span class="unit">${t}</span>
      <span class="read" role="status">${H?`${rt(H.time)} UTC: ${Y(H)}`:W?`${l?`last, ${rt(W.time)}`:"now"}: ${Y(W)}`:ae}</span>
    </figcaption>
    <svg
      width=${c}
      height=${re}
      role="img"
      tabindex="0"
      aria-label="${e} over the last ${s} h; ${W?Y(W):ae}. Arrow keys read single points."
      onPointerMove=${ie}
      onPointerLeave=${()=>u(null)}
      onKeyDown=${U}
      onBlur=${()=>u(null)}
    >
      <defs>
        <pattern id=${it} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line y2="6" class="hatch" /></pattern>
      </defs>
      ${!l&&Zo($,k,_,a,h).map(([f,O])=>i`<rect class="unknown" fill="url(#${it})" x=${R(f)} y=${Oe} width=${Math.max(0,R(O)-R(f))} height=${re-Oe-De} />`)}
      ${Array.from({length:Rn+1},(f,O)=>y*O/Rn).map(f=>i`<g class="axis"><line x1=${se} x2=${c-ot} y1=${M(f)} y2=${M(f)} /><text x=${se-6} y=${M(f)+4} text-anchor="end">${f===0?"0":b.length?B(f):""}</text></g>`)}
      ${at.map(f=>i`<text class="hour" x=${R(f)} y=${re-6} text-anchor="middle">${rt(f)}</text>`)}
      ${n.map(([f],O)=>Xo($,f,l?1/0:h).map(K=>K.length>1?i`<polyline class="series-${O}" points=${K.map(ve=>`${R(ve.time).toFixed(1)},${M(ve[f]).toFixed(1)}`).join(" ")} />`:i`<circle class="series-${O}" cx=${R(K[0].time)} cy=${M(K[0][f])} r="3" />`))}
      ${H&&i`<line class="cursor" x1=${R(H.time)} x2=${R(H.time)} y1=${Oe} y2=${re-De} />
        ${n.map(([f],O)=>te(H[f])&&i`<circle class="series-${O} at" cx=${R(H.time)} cy=${M(H[f])} r="4" />`)}`}
    </svg>
    <ul class="legend">
      ${n.map(([,f],O)=>i`<li class="series-${O}">${f}</li>`)}
      ${!l&&i`<li class="gap">not known</li>`}
    </ul>
  </figure>`}var Qo=`${m}/activity`,Cn=[1,6,24],er=360,tr=[{title:"Requests",unit:"/s",figures:[["requests","answered"],["failed_requests","failed"]]},{title:"Time to ACTIVE",unit:"s",figures:[["time_to_active_seconds","mean"]],sparse:"no change in this time"},{title:"Traffic",unit:"B/s",figures:[["bytes_in","in"],["bytes_out","out"]]},{title:"Connections",unit:"/s",figures:[["connections","new"]]}];function Nn({query:e}){let t=Cn.includes(Number(e.hours))?Number(e.hours):1,n=`${Qo}?hours=${t}`,{data:o,error:s,at:r}=A(async()=>({...(await v(n)).activity,hours:t}),0,[n]);return i`<section aria-labelledby="activity">
    <div class="heading">
      <h2 id="activity">Requests, time to ACTIVE and traffic</h2>
      <nav class="spans" aria-label="Span">
        ${Cn.map(a=>i`<a href=${L("",{hours:a===1?"":String(a)})} aria-current=${a===t?"true":null}>${a} h</a>`)}
      </nav>
    </div>
    <${S} error=${s} loading=${!o} />
    ${o&&i`<${nr} data=${o} to=${r} />`}
    <${x} command="evenkeel activity" path=${n} />
  </section>`}function nr({data:e,to:t}){let{requests:n,time_to_active:o,points:s,hours:r}=e,a=e.interval*1e3*Math.max(1,Math.ceil(r*3600/e.interval/er));return i`<p class="live">
      ${B(n.count)} requests since ${fe(e.since)} UTC, ${B(n.failed)} failed,
      ${n.mean_seconds===null?"":` ${Math.round(n.mean_seconds*1e3)} ms in the mean;`}
      ${o.count?` ${B(o.count)} changes became ACTIVE, half of them within ${B(o.median_seconds)} s, 95 % within ${B(o.p95_seconds)} s.`:" no change became ACTIVE yet."}
      ${" "}These are of the controller that answered (of several workers: the one); traffic is that of all load balancers.
    </p>
    ${s.length?"":i`<p class="empty">${e.reason}</p>`}
    <div class="bigs">${tr.map(l=>i`<${Pn} key=${l.title} ...${l} points=${s} hours=${r} stepMs=${a} to=${t} />`)}</div>`}function jn({live:e,query:t}){let{data:n,error:o}=A(async()=>(await v(`${m}/status`)).status,e.newest);return i`<h1>Overview</h1>
    <${S} error=${o} loading=${!n} />
    ${n&&i`<${rr} status=${n} /><${sr} problems=${n.problems} /><${ir} status=${n} />`}
    <${x} command="evenkeel status" path="${m}/status" />
    <${Nn} query=${t} />
    <h2>Latest events</h2>
    <${Xe} live=${e} most=${8} />
    <${x} command="evenkeel events" path="${m}/events?newest=true" />`}var or=new Set(["ONLINE","NO_MONITOR"]),Hn=e=>Object.values(e).reduce((t,n)=>t+n,0),Fn=e=>e.load_balancers_operating??{};function rr({status:e}){if(e.problems.length)return null;let t=Fn(e),n=Object.entries(t).filter(([a,l])=>l&&!or.has(a)),o=Hn(t);if(!n.length)return i`<p class="verdict good"><span aria-hidden="true">●</span> Nothing is wrong.</p>`;let s=L("loadbalancers",{operating_status:n.map(([a])=>a).join(",")}),r=n.reduce((a,[,l])=>a+l,0);return i`<p class="verdict unsure">
    <span aria-hidden="true">◆</span> No fault of the system is known, but <a href=${s}>${r.toLocaleString("en")} of ${o.toLocaleString("en")} ${o===1?"load balancer is":"load balancers are"} not ONLINE</a>:
    without listeners or healthy members, disabled, held, or just made.
  </p>`}var In={agent:e=>`#/agents/${e}`,environment:()=>"#/environments",device_group:()=>"#/devices",load_balancer:e=>`#/loadbalancers/${e}`,load_balancers:e=>`#/loadbalancers?${e}`,shards:()=>"#/topology"};function sr({problems:e}){return e.length?i`<section class="problems" aria-label="Problems">
    <h2>${e.length} ${e.length===1?"problem":"problems"}</h2>
    <ul>
      ${e.map(t=>i`<${ar} key=${t.kind+t.text} problem=${t} />`)}
    </ul>
  </section>`:null}function ar({problem:{text:e,remedy:t,objects:n=[],commands:o=[]}}){return i`<li class="problem">
    <h3><span aria-hidden="true">▲</span> ${e}</h3>
    ${n.length>0&&i`<p class="about">See ${n.map((s,r)=>i`${r>0&&", "}<a href=${In[s.kind]?In[s.kind](s.id):"#/"}>${s.name}</a>`)}</p>`}
    ${o.length?i`<ul class="commands">
          ${o.map(s=>i`<li>${(s.host||s.condition)&&i`<span class="host">${s.host?`on ${s.host}`:s.condition}</span>`} <code>${s.command}</code> <${he} text=${s.command} about=${s.command} /></li>`)}
        </ul>`:i`<p class="about">What helps: ${t}</p>`}
  </li>`}function Ln({title:e,counts:t,filter:n}){let o=Object.entries(t).filter(([,r])=>r).sort(([r],[a])=>Mn.indexOf($e(r))-Mn.indexOf($e(a))),s=Hn(t);return i`<section class="panel" aria-label=${e}>
    <h2>${e}</h2>
    <p class="value"><a href="#/loadbalancers">${s.toLocaleString("en")}</a> <span class="dim">${s===1?"load balancer":"load balancers"}</span></p>
    <div class="bar" aria-hidden="true">${o.map(([r,a])=>i`<span class=${$e(r)} style=${{flexGrow:a}}></span>`)}</div>
    <ul>
      ${o.map(([r,a])=>i`<li><a href=${L("loadbalancers",{[n]:r})}><${w} value=${r} /> <span class="count">${a.toLocaleString("en")}</span></a></li>`)}
    </ul>
  </section>`}var Mn=["bad","unsure","other","good"];function ir({status:e}){let{agents:t,shards:n}=e,o=e.message_broker==="connected",s=[["Agents up",`${t.up} of ${t.up+t.down}`,t.down>0&&i`<${w} value="silent" /> or stopped: ${t.down}`,"#/agents"],["Shards",n.total,n.unserved>0&&i`<${w} value="unserved" /> ${n.unserved}`,"#/topology"],["Oldest PENDING",`${e.oldest_pending_seconds} s`,null,L("loadbalancers",{provisioning_status:"PENDING_CREATE,PENDING_UPDATE,PENDING_DELETE"})],["Message broker",o?"connected":"away",!o&&i`<${w} value="out of reach" />`,"#/controllers"]];return i`<div class="panels">
      <${Ln} title="Operating: what clients get" counts=${Fn(e)} filter="operating_status" />
      <${Ln} title="Provisioning: what devices have" counts=${e.load_balancers} filter="provisioning_status" />
    </div>
    <ul class="cards">
      ${s.map(([r,a,l,p])=>i`<li><a href=${p}><span class="title">${r}</span> <span class="value">${a}</span></a> ${l&&i`<p class="more">${l}</p>`}</li>`)}
    </ul>`}var lr=34,I={controller:0,bus:180,agent:310,shard:540,trunk:715,device:740},cr=8e3,X={controller:150,bus:100,agent:170,device:260},ur=I.device+X.device+2,pr=async()=>(await v(`${m}/topology`)).topology;function Un({live:e}){let{data:t,error:n}=A(pr,e.newest);return i`<h1>Topology</h1>
    <p>A line is a shard, one tenant on a device group: it goes from the agent that may write to the devices, with its epoch. At a takeover the line moves and the epoch grows.</p>
    <ul class="key">
      <li><span class="owner"></span> may write</li>
      <li><span class="reach"></span> connected</li>
      <li><span class="cut"></span> away</li>
    </ul>
    <${S} error=${n} loading=${!t} />
    ${t&&!t.groups.length&&i`<p class="empty">No agent has registered yet.</p>`}
    ${t&&t.groups.map(o=>i`<${fr} key="${o.environment}/${o.group_number}" group=${o} topology=${t} />`)}
    <${x} command="evenkeel shard list" path="${m}/topology" />`}function dr(e){let t=new Map(e.agents.map((o,s)=>[o.id,s])),n=o=>t.get(o.agent)??t.size;return _r(e).sort((o,s)=>n(o)-n(s)||o.key.localeCompare(s.key))}function _r(e){let{environment:t,group_number:n}=e;if(e.shards.length)return e.shards.map(s=>({key:s.id,agent:s.acting_agent_id,name:s.project_id?C(s.project_id):"common",epoch:s.epoch,title:s.project_id?`project ${s.project_id}`:"the common shard: what tenants of the group share",link:s.project_id&&L("loadbalancers",{environment:t,group_number:String(n),project_id:s.project_id}),text:`${s.project_id?C(s.project_id):"common"} · epoch ${s.epoch}`,served:s.served}));let o=new Set(e.agents.filter(s=>s.alive).map(s=>s.id));return e.lines.map(s=>({key:s.agent_id||"none",agent:s.agent_id,text:`${s.shards} shards · epochs to ${s.newest_epoch}`,served:o.has(s.agent_id)}))}function $r(e,t){let n=F(new Map),[o,s]=T([]),r=t.map(a=>`${a.key} ${a.agent} ${a.epoch}`).join(";");return D(()=>{let a=n.current,p=t.filter(c=>c.name&&c.agent&&a.has(c.key)&&a.get(c.key)!==c.agent).map(c=>`${c.name} moved from ${Ce(e.agents,a.get(c.key))} to ${Ce(e.agents,c.agent)}, epoch ${c.epoch}`);n.current=new Map(t.map(c=>[c.key,c.agent||a.get(c.key)])),p.length&&s(p)},[r]),D(()=>{if(!o.length)return;let a=setTimeout(()=>s([]),cr);return()=>clearTimeout(a)},[o]),o}function fr({group:e,topology:t}){let n=dr(e),o=$r(e,n),{agents:s,devices:r}=e,{controllers:a}=t,p=Math.max(s.length,n.length,r.length,a.length,1)*lr+10,c=(h,b)=>(h+.5)*p/b,d=new Map(s.map((h,b)=>[h.id,c(b,s.length)])),u=p/2,_=t.message_broker==="connected",$=`${e.environment}/${e.group_number}`,k=n.map(h=>`${Ce(s,h.agent)}: ${h.text}`).join("; ");return i`<figure class="topology">
    <figcaption><h2>${$}</h2>${e.halted&&i`<p class="failure">Halted: ${e.halted}. No shard moves.</p>`}<p class="moves" role="status">${o.join("; ")}</p></figcaption>
    <div class="scroll" tabindex="0" role="region" aria-label="Topology of ${$}">
    <svg viewBox="0 0 ${ur} ${p}" role="group" aria-label="Who may write to the devices of ${$}: ${k||"no shards"}">
      ${a.map((h,b)=>{let g=c(b,a.length);return i`<line class=${h.alive?"link":"link cut"} x1=${I.controller+X.controller} y1=${g} x2=${I.bus} y2=${u} />
          <${Pe} x=${I.controller} at=${g} width=${X.controller} state=${h.alive?"up":"silent"} text="controller :${h.url.split(":").pop()}" />`})}
      ${s.map(h=>i`<line class=${h.alive?"link":"link cut"} x1=${I.bus+X.bus} y1=${u} x2=${I.agent} y2=${d.get(h.id)} />
          <a href="#/agents/${h.id}"><${Pe} x=${I.agent} at=${d.get(h.id)} width=${X.agent} state=${h.state} text="${h.host} · ${h.state}" /></a>`)}
      <${Pe} x=${I.bus} at=${u} width=${X.bus} state=${_?"up":"silent"} text="message bus" />
      ${n.map((h,b)=>{let g=c(b,n.length),y=d.get(h.agent),R=I.agent+X.agent;return i`${y!==void 0&&i`<path class="owner ${h.served?"":"cut"}" d="M${R} ${y} C ${R+40} ${y} ${I.shard-40} ${g} ${I.shard} ${g}" />`}
          <${mr} line=${h} at=${g} host=${Ce(s,h.agent)} />
          <path class="reach" d="M${I.shard+155} ${g} H ${I.trunk}" />`})}
      ${n.length>0&&r.length>0&&i`<path class="reach" d="M${I.trunk} ${Math.min(c(0,n.length),c(0,r.length))} V ${Math.max(c(n.length-1,n.length),c(r.length-1,r.length))}" />`}
      ${r.map((h,b)=>i`<path class=${h.reachable?"reach":"reach cut"} d="M${I.trunk} ${c(b,r.length)} H ${I.device}" />`)}
      ${r.map((h,b)=>i`<${Pe} x=${I.device} at=${c(b,r.length)} width=${X.device} state=${h.reachable?"up":"silent"} text="${h.own_name||h.name} · ${h.reachable?h.failover_state||"reached":"out of reach"}" />`)}
    </svg>
    </div>
  </figure>`}function mr({line:e,at:t,host:n}){let o=i`<text class="shard" data-agent=${n} x=${I.shard+6} y=${t+4}><title>${e.title||""}</title>${e.text}${n===st?` · ${st}`:""}</text>`;return e.link?i`<a href=${e.link}>${o}</a>`:o}var st="no agent",hr=6.6;function Pe({x:e,at:t,width:n,state:o,text:s}){let r=Math.floor((n-16)/hr);return i`<g class="box ${o}" transform="translate(${e} ${t-13})">
    <title>${s}</title>
    <rect width=${n} height="26" rx="5" />
    <text x="8" y="17">${s.length>r?`${s.slice(0,r-1)}…`:s}</text>
  </g>`}function Ce(e,t){let n=e.find(o=>o.id===t);return n?n.host:st}var Ne={"":["Overview",jn],topology:["Topology",Un],loadbalancers:["Load balancers",bn],agents:["Agents",an],devices:["Devices",pn],controllers:["Controllers",dn],environments:["Environments",_n],events:["Events",$n]},gr=[`${m}/events?limit=1&newest=true`,`${m}/activity`,`${J}/loadbalancers?limit=1&fields=id`];function vr(){let[e,t]=T({state:"asking",reason:""});async function n(){let o=null;for(let r of gr)try{return await v(r),t({state:"in",reason:""})}catch(a){if(o=a,a.status!==403)break}let s=o.status===401||o.status===403;t({state:s?"out":"away",reason:ze()||!s?o.message:""})}return D(()=>{n()},[]),D(()=>{if(e.state!=="away")return;let o=setTimeout(n,2e3);return()=>clearTimeout(o)},[e]),e.state==="asking"?i`<main><p>Loading…</p></main>`:e.state==="out"?i`<${Dn} reason=${e.reason} done=${n} />`:e.state==="away"?i`<main><p class="failure" role="alert">${e.reason}</p></main>`:i`<${br}
    leave=${o=>{Ut(),t({state:"out",reason:o})}}
  />`}function br({leave:e}){let t=Qt(),{parts:[n,o,s,r,a],query:l}=tn(),p=F(null),[c,d]=Ne[n]||Ne[""];D(()=>{document.title=`${c} · Even Keel`,p.current&&document.activeElement!==document.body&&p.current.focus()},[n,o,r]),D(()=>{t.error&&t.error.status===401&&e(t.error.message)},[t.error]);function u(){return n==="agents"&&o?i`<${un} key=${o} id=${o} live=${t} />`:n!=="loadbalancers"||!o?i`<${d} key=${n} live=${t} query=${l} />`:s?i`<${xn} key=${r} root=${o} kind=${s} id=${r} parent=${a} live=${t} />`:i`<${On} key=${o} id=${o} live=${t} />`}return i`<a class="skip" href="#main" onClick=${_=>(_.preventDefault(),p.current.focus())}>Skip to content</a>
    <header>
      <span class="brand">Even Keel</span>
      <nav aria-label="Views">
        ${Object.entries(Ne).map(([_,[$]])=>i`<a href="#/${_}" aria-current=${_===(Ne[n]?n:"")?"page":null}>${$}</a>`)}
      </nav>
      ${ze()&&i`<button type="button" onClick=${()=>e("")}>Log out</button>`}
    </header>
    <${Xt} />
    ${t.error&&t.error.status!==401&&t.error.status!==403&&i`<p class="failure banner" role="alert">${t.error.message}: trying again</p>`}
    <main id="main" tabindex="-1" ref=${p}>
      ${u()}
    </main>`}Be(i`<${vr} />`,document.getElementById("app"));
