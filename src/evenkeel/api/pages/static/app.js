var ke,T,ft,zn,Q,pt,mt,ht,gt,He,Ie,Me,qn,ue={},vt=[],Jn=/acit|ex(?:s|g|n|p|$)|rph|grid|ows|mnc|ntw|ine[ch]|zoo|^ord|itera/i,xe=Array.isArray;function z(e,t){for(var n in t)e[n]=t[n];return e}function Fe(e){e&&e.parentNode&&e.parentNode.removeChild(e)}function Se(e,t,n){var o,s,r,a={};for(r in t)r=="key"?o=t[r]:r=="ref"?s=t[r]:a[r]=t[r];if(arguments.length>2&&(a.children=arguments.length>3?ke.call(arguments,2):n),typeof e=="function"&&e.defaultProps!=null)for(r in e.defaultProps)a[r]===void 0&&(a[r]=e.defaultProps[r]);return ye(e,a,o,s,null)}function ye(e,t,n,o,s){var r={type:e,props:t,key:n,ref:o,__k:null,__:null,__b:0,__e:null,__c:null,constructor:void 0,__v:s??++ft,__i:-1,__u:0};return s==null&&T.vnode!=null&&T.vnode(r),r}function Ee(e){return e.children}function ce(e,t){this.props=e,this.context=t}function oe(e,t){if(t==null)return e.__?oe(e.__,e.__i+1):null;for(var n;t<e.__k.length;t++)if((n=e.__k[t])!=null&&n.__e!=null)return n.__e;return typeof e.type=="function"?oe(e):null}function bt(e){var t,n;if((e=e.__)!=null&&e.__c!=null){for(e.__e=e.__c.base=null,t=0;t<e.__k.length;t++)if((n=e.__k[t])!=null&&n.__e!=null){e.__e=e.__c.base=n.__e;break}return bt(e)}}function dt(e){(!e.__d&&(e.__d=!0)&&Q.push(e)&&!we.__r++||pt!=T.debounceRendering)&&((pt=T.debounceRendering)||mt)(we)}function we(){for(var e,t,n,o,s,r,a,l=1;Q.length;)Q.length>l&&Q.sort(ht),e=Q.shift(),l=Q.length,e.__d&&(n=void 0,o=void 0,s=(o=(t=e).__v).__e,r=[],a=[],t.__P&&((n=z({},o)).__v=o.__v+1,T.vnode&&T.vnode(n),Ue(t.__P,n,o,t.__n,t.__P.namespaceURI,32&o.__u?[s]:null,r,s??oe(o),!!(32&o.__u),a),n.__v=o.__v,n.__.__k[n.__i]=n,kt(r,n,a),o.__e=o.__=null,n.__e!=s&&bt(n)));we.__r=0}function yt(e,t,n,o,s,r,a,l,u,c,d){var p,$,_,k,h,b,f,v=o&&o.__k||vt,E=t.length;for(u=Yn(n,t,v,u,E),p=0;p<E;p++)(_=n.__k[p])!=null&&($=_.__i==-1?ue:v[_.__i]||ue,_.__i=p,b=Ue(e,_,$,s,r,a,l,u,c,d),k=_.__e,_.ref&&$.ref!=_.ref&&($.ref&&Be($.ref,null,_),d.push(_.ref,_.__c||k,_)),h==null&&k!=null&&(h=k),(f=!!(4&_.__u))||$.__k===_.__k?u=wt(_,u,e,f):typeof _.type=="function"&&b!==void 0?u=b:k&&(u=k.nextSibling),_.__u&=-7);return n.__e=h,u}function Yn(e,t,n,o,s){var r,a,l,u,c,d=n.length,p=d,$=0;for(e.__k=new Array(s),r=0;r<s;r++)(a=t[r])!=null&&typeof a!="boolean"&&typeof a!="function"?(u=r+$,(a=e.__k[r]=typeof a=="string"||typeof a=="number"||typeof a=="bigint"||a.constructor==String?ye(null,a,null,null,null):xe(a)?ye(Ee,{children:a},null,null,null):a.constructor==null&&a.__b>0?ye(a.type,a.props,a.key,a.ref?a.ref:null,a.__v):a).__=e,a.__b=e.__b+1,l=null,(c=a.__i=Xn(a,n,u,p))!=-1&&(p--,(l=n[c])&&(l.__u|=2)),l==null||l.__v==null?(c==-1&&(s>d?$--:s<d&&$++),typeof a.type!="function"&&(a.__u|=4)):c!=u&&(c==u-1?$--:c==u+1?$++:(c>u?$--:$++,a.__u|=4))):e.__k[r]=null;if(p)for(r=0;r<d;r++)(l=n[r])!=null&&(2&l.__u)==0&&(l.__e==o&&(o=oe(l)),St(l,l));return o}function wt(e,t,n,o){var s,r;if(typeof e.type=="function"){for(s=e.__k,r=0;s&&r<s.length;r++)s[r]&&(s[r].__=e,t=wt(s[r],t,n,o));return t}e.__e!=t&&(o&&(t&&e.type&&!t.parentNode&&(t=oe(e)),n.insertBefore(e.__e,t||null)),t=e.__e);do t=t&&t.nextSibling;while(t!=null&&t.nodeType==8);return t}function Xn(e,t,n,o){var s,r,a,l=e.key,u=e.type,c=t[n],d=c!=null&&(2&c.__u)==0;if(c===null&&e.key==null||d&&l==c.key&&u==c.type)return n;if(o>(d?1:0)){for(s=n-1,r=n+1;s>=0||r<t.length;)if((c=t[a=s>=0?s--:r++])!=null&&(2&c.__u)==0&&l==c.key&&u==c.type)return a}return-1}function $t(e,t,n){t[0]=="-"?e.setProperty(t,n??""):e[t]=n==null?"":typeof n!="number"||Jn.test(t)?n:n+"px"}function be(e,t,n,o,s){var r,a;e:if(t=="style")if(typeof n=="string")e.style.cssText=n;else{if(typeof o=="string"&&(e.style.cssText=o=""),o)for(t in o)n&&t in n||$t(e.style,t,"");if(n)for(t in n)o&&n[t]==o[t]||$t(e.style,t,n[t])}else if(t[0]=="o"&&t[1]=="n")r=t!=(t=t.replace(gt,"$1")),a=t.toLowerCase(),t=a in e||t=="onFocusOut"||t=="onFocusIn"?a.slice(2):t.slice(2),e.l||(e.l={}),e.l[t+r]=n,n?o?n.u=o.u:(n.u=He,e.addEventListener(t,r?Me:Ie,r)):e.removeEventListener(t,r?Me:Ie,r);else{if(s=="http://www.w3.org/2000/svg")t=t.replace(/xlink(H|:h)/,"h").replace(/sName$/,"s");else if(t!="width"&&t!="height"&&t!="href"&&t!="list"&&t!="form"&&t!="tabIndex"&&t!="download"&&t!="rowSpan"&&t!="colSpan"&&t!="role"&&t!="popover"&&t in e)try{e[t]=n??"";break e}catch{}typeof n=="function"||(n==null||n===!1&&t[4]!="-"?e.removeAttribute(t):e.setAttribute(t,t=="popover"&&n==1?"":n))}}function _t(e){return function(t){if(this.l){var n=this.l[t.type+e];if(t.t==null)t.t=He++;else if(t.t<n.u)return;return n(T.event?T.event(t):t)}}}function Ue(e,t,n,o,s,r,a,l,u,c){var d,p,$,_,k,h,b,f,v,E,I,j,F,ie,Y,Z,le,B=t.type;if(t.constructor!=null)return null;128&n.__u&&(u=!!(32&n.__u),r=[l=t.__e=n.__e]),(d=T.__b)&&d(t);e:if(typeof B=="function")try{if(f=t.props,v="prototype"in B&&B.prototype.render,E=(d=B.contextType)&&o[d.__c],I=d?E?E.props.value:d.__:o,n.__c?b=(p=t.__c=n.__c).__=p.__E:(v?t.__c=p=new B(f,I):(t.__c=p=new ce(f,I),p.constructor=B,p.render=Qn),E&&E.sub(p),p.props=f,p.state||(p.state={}),p.context=I,p.__n=o,$=p.__d=!0,p.__h=[],p._sb=[]),v&&p.__s==null&&(p.__s=p.state),v&&B.getDerivedStateFromProps!=null&&(p.__s==p.state&&(p.__s=z({},p.__s)),z(p.__s,B.getDerivedStateFromProps(f,p.__s))),_=p.props,k=p.state,p.__v=t,$)v&&B.getDerivedStateFromProps==null&&p.componentWillMount!=null&&p.componentWillMount(),v&&p.componentDidMount!=null&&p.__h.push(p.componentDidMount);else{if(v&&B.getDerivedStateFromProps==null&&f!==_&&p.componentWillReceiveProps!=null&&p.componentWillReceiveProps(f,I),!p.__e&&p.shouldComponentUpdate!=null&&p.shouldComponentUpdate(f,p.__s,I)===!1||t.__v==n.__v){for(t.__v!=n.__v&&(p.props=f,p.state=p.__s,p.__d=!1),t.__e=n.__e,t.__k=n.__k,t.__k.some(function(G){G&&(G.__=t)}),j=0;j<p._sb.length;j++)p.__h.push(p._sb[j]);p._sb=[],p.__h.length&&a.push(p);break e}p.componentWillUpdate!=null&&p.componentWillUpdate(f,p.__s,I),v&&p.componentDidUpdate!=null&&p.__h.push(function(){p.componentDidUpdate(_,k,h)})}if(p.context=I,p.props=f,p.__P=e,p.__e=!1,F=T.__r,ie=0,v){for(p.state=p.__s,p.__d=!1,F&&F(t),d=p.render(p.props,p.state,p.context),Y=0;Y<p._sb.length;Y++)p.__h.push(p._sb[Y]);p._sb=[]}else do p.__d=!1,F&&F(t),d=p.render(p.props,p.state,p.context),p.state=p.__s;while(p.__d&&++ie<25);p.state=p.__s,p.getChildContext!=null&&(o=z(z({},o),p.getChildContext())),v&&!$&&p.getSnapshotBeforeUpdate!=null&&(h=p.getSnapshotBeforeUpdate(_,k)),Z=d,d!=null&&d.type===Ee&&d.key==null&&(Z=xt(d.props.children)),l=yt(e,xe(Z)?Z:[Z],t,n,o,s,r,a,l,u,c),p.base=t.__e,t.__u&=-161,p.__h.length&&a.push(p),b&&(p.__E=p.__=null)}catch(G){if(t.__v=null,u||r!=null)if(G.then){for(t.__u|=u?160:128;l&&l.nodeType==8&&l.nextSibling;)l=l.nextSibling;r[r.indexOf(l)]=null,t.__e=l}else{for(le=r.length;le--;)Fe(r[le]);je(t)}else t.__e=n.__e,t.__k=n.__k,G.then||je(t);T.__e(G,t,n)}else r==null&&t.__v==n.__v?(t.__k=n.__k,t.__e=n.__e):l=t.__e=Zn(n.__e,t,n,o,s,r,a,u,c);return(d=T.diffed)&&d(t),128&t.__u?void 0:l}function je(e){e&&e.__c&&(e.__c.__e=!0),e&&e.__k&&e.__k.forEach(je)}function kt(e,t,n){for(var o=0;o<n.length;o++)Be(n[o],n[++o],n[++o]);T.__c&&T.__c(t,e),e.some(function(s){try{e=s.__h,s.__h=[],e.some(function(r){r.call(s)})}catch(r){T.__e(r,s.__v)}})}function xt(e){return typeof e!="object"||e==null||e.__b&&e.__b>0?e:xe(e)?e.map(xt):z({},e)}function Zn(e,t,n,o,s,r,a,l,u){var c,d,p,$,_,k,h,b=n.props,f=t.props,v=t.type;if(v=="svg"?s="http://www.w3.org/2000/svg":v=="math"?s="http://www.w3.org/1998/Math/MathML":s||(s="http://www.w3.org/1999/xhtml"),r!=null){for(c=0;c<r.length;c++)if((_=r[c])&&"setAttribute"in _==!!v&&(v?_.localName==v:_.nodeType==3)){e=_,r[c]=null;break}}if(e==null){if(v==null)return document.createTextNode(f);e=document.createElementNS(s,v,f.is&&f),l&&(T.__m&&T.__m(t,r),l=!1),r=null}if(v==null)b===f||l&&e.data==f||(e.data=f);else{if(r=r&&ke.call(e.childNodes),b=n.props||ue,!l&&r!=null)for(b={},c=0;c<e.attributes.length;c++)b[(_=e.attributes[c]).name]=_.value;for(c in b)if(_=b[c],c!="children"){if(c=="dangerouslySetInnerHTML")p=_;else if(!(c in f)){if(c=="value"&&"defaultValue"in f||c=="checked"&&"defaultChecked"in f)continue;be(e,c,null,_,s)}}for(c in f)_=f[c],c=="children"?$=_:c=="dangerouslySetInnerHTML"?d=_:c=="value"?k=_:c=="checked"?h=_:l&&typeof _!="function"||b[c]===_||be(e,c,_,b[c],s);if(d)l||p&&(d.__html==p.__html||d.__html==e.innerHTML)||(e.innerHTML=d.__html),t.__k=[];else if(p&&(e.innerHTML=""),yt(t.type=="template"?e.content:e,xe($)?$:[$],t,n,o,v=="foreignObject"?"http://www.w3.org/1999/xhtml":s,r,a,r?r[0]:n.__k&&oe(n,0),l,u),r!=null)for(c=r.length;c--;)Fe(r[c]);l||(c="value",v=="progress"&&k==null?e.removeAttribute("value"):k!=null&&(k!==e[c]||v=="progress"&&!k||v=="option"&&k!=b[c])&&be(e,c,k,b[c],s),c="checked",h!=null&&h!=e[c]&&be(e,c,h,b[c],s))}return e}function Be(e,t,n){try{if(typeof e=="function"){var o=typeof e.__u=="function";o&&e.__u(),o&&t==null||(e.__u=e(t))}else e.current=t}catch(s){T.__e(s,n)}}function St(e,t,n){var o,s;if(T.unmount&&T.unmount(e),(o=e.ref)&&(o.current&&o.current!=e.__e||Be(o,null,t)),(o=e.__c)!=null){if(o.componentWillUnmount)try{o.componentWillUnmount()}catch(r){T.__e(r,t)}o.base=o.__P=null}if(o=e.__k)for(s=0;s<o.length;s++)o[s]&&St(o[s],t,n||typeof e.type!="function");n||Fe(e.__e),e.__c=e.__=e.__e=void 0}function Qn(e,t,n){return this.constructor(e,n)}function We(e,t,n){var o,s,r,a;t==document&&(t=document.documentElement),T.__&&T.__(e,t),s=(o=typeof n=="function")?null:n&&n.__k||t.__k,r=[],a=[],Ue(t,e=(!o&&n||t).__k=Se(Ee,null,[e]),s||ue,ue,t.namespaceURI,!o&&n?[n]:s?null:t.firstChild?ke.call(t.childNodes):null,r,!o&&n?n:s?s.__e:t.firstChild,o,a),kt(r,e,a)}ke=vt.slice,T={__e:function(e,t,n,o){for(var s,r,a;t=t.__;)if((s=t.__c)&&!s.__)try{if((r=s.constructor)&&r.getDerivedStateFromError!=null&&(s.setState(r.getDerivedStateFromError(e)),a=s.__d),s.componentDidCatch!=null&&(s.componentDidCatch(e,o||{}),a=s.__d),a)return s.__E=s}catch(l){e=l}throw e}},ft=0,zn=function(e){return e!=null&&e.constructor==null},ce.prototype.setState=function(e,t){var n;n=this.__s!=null&&this.__s!=this.state?this.__s:this.__s=z({},this.state),typeof e=="function"&&(e=e(z({},n),this.props)),e&&z(n,e),e!=null&&this.__v&&(t&&this._sb.push(t),dt(this))},ce.prototype.forceUpdate=function(e){this.__v&&(this.__e=!0,e&&this.__h.push(e),dt(this))},ce.prototype.render=Ee,Q=[],mt=typeof Promise=="function"?Promise.prototype.then.bind(Promise.resolve()):setTimeout,ht=function(e,t){return e.__v.__b-t.__v.__b},we.__r=0,gt=/(PointerCapture)$|Capture$/i,He=0,Ie=_t(!1),Me=_t(!0),qn=0;var Tt=function(e,t,n,o){var s;t[0]=0;for(var r=1;r<t.length;r++){var a=t[r++],l=t[r]?(t[0]|=a?1:2,n[t[r++]]):t[++r];a===3?o[0]=l:a===4?o[1]=Object.assign(o[1]||{},l):a===5?(o[1]=o[1]||{})[t[++r]]=l:a===6?o[1][t[++r]]+=l+"":a?(s=e.apply(l,Tt(e,l,n,["",null])),o.push(s),l[0]?t[0]|=2:(t[r-2]=0,t[r]=s)):o.push(l)}return o},Et=new Map;function At(e){var t=Et.get(this);return t||(t=new Map,Et.set(this,t)),(t=Tt(this,t.get(e)||(t.set(e,t=(function(n){for(var o,s,r=1,a="",l="",u=[0],c=function($){r===1&&($||(a=a.replace(/^\s*\n\s*|\s*\n\s*$/g,"")))?u.push(0,$,a):r===3&&($||a)?(u.push(3,$,a),r=2):r===2&&a==="..."&&$?u.push(4,$,0):r===2&&a&&!$?u.push(5,0,!0,a):r>=5&&((a||!$&&r===5)&&(u.push(r,0,a,s),r=6),$&&(u.push(r,$,0,s),r=6)),a=""},d=0;d<n.length;d++){d&&(r===1&&c(),c(d));for(var p=0;p<n[d].length;p++)o=n[d][p],r===1?o==="<"?(c(),u=[u],r=3):a+=o:r===4?a==="--"&&o===">"?(r=1,a=""):a=o+a[0]:l?o===l?l="":a+=o:o==='"'||o==="'"?l=o:o===">"?(c(),r=1):r&&(o==="="?(r=5,s=a,a=""):o==="/"&&(r<5||n[d][p+1]===">")?(c(),r===3&&(u=u[0]),r=u,(u=u[0]).push(2,0,r),r=0):o===" "||o==="	"||o===`
`||o==="\r"?(c(),r=2):a+=o),r===3&&a==="!--"&&(r=4,u=u[0])}return c(),u})(e)),t),arguments,[])).length>1?t:t[0]}var i=At.bind(Se);var pe,P,Ve,Ot,de=0,Mt=[],N=T,Rt=N.__b,Dt=N.__r,Pt=N.diffed,Ct=N.__c,Nt=N.unmount,Lt=N.__;function Ke(e,t){N.__h&&N.__h(P,e,de||t),de=0;var n=P.__H||(P.__H={__:[],__h:[]});return e>=n.__.length&&n.__.push({}),n.__[e]}function A(e){return de=1,eo(Ut,e)}function eo(e,t,n){var o=Ke(pe++,2);if(o.t=e,!o.__c&&(o.__=[n?n(t):Ut(void 0,t),function(l){var u=o.__N?o.__N[0]:o.__[0],c=o.t(u,l);u!==c&&(o.__N=[c,o.__[1]],o.__c.setState({}))}],o.__c=P,!P.__f)){var s=function(l,u,c){if(!o.__c.__H)return!0;var d=o.__c.__H.__.filter(function($){return!!$.__c});if(d.every(function($){return!$.__N}))return!r||r.call(this,l,u,c);var p=o.__c.props!==l;return d.forEach(function($){if($.__N){var _=$.__[0];$.__=$.__N,$.__N=void 0,_!==$.__[0]&&(p=!0)}}),r&&r.call(this,l,u,c)||p};P.__f=!0;var r=P.shouldComponentUpdate,a=P.componentWillUpdate;P.componentWillUpdate=function(l,u,c){if(this.__e){var d=r;r=void 0,s(l,u,c),r=d}a&&a.call(this,l,u,c)},P.shouldComponentUpdate=s}return o.__N||o.__}function D(e,t){var n=Ke(pe++,3);!N.__s&&Ft(n.__H,t)&&(n.__=e,n.u=t,P.__H.__h.push(n))}function U(e){return de=5,jt(function(){return{current:e}},[])}function jt(e,t){var n=Ke(pe++,7);return Ft(n.__H,t)&&(n.__=e(),n.__H=t,n.__h=e),n.__}function Ht(e,t){return de=8,jt(function(){return e},t)}function to(){for(var e;e=Mt.shift();)if(e.__P&&e.__H)try{e.__H.__h.forEach(Te),e.__H.__h.forEach(Ge),e.__H.__h=[]}catch(t){e.__H.__h=[],N.__e(t,e.__v)}}N.__b=function(e){P=null,Rt&&Rt(e)},N.__=function(e,t){e&&t.__k&&t.__k.__m&&(e.__m=t.__k.__m),Lt&&Lt(e,t)},N.__r=function(e){Dt&&Dt(e),pe=0;var t=(P=e.__c).__H;t&&(Ve===P?(t.__h=[],P.__h=[],t.__.forEach(function(n){n.__N&&(n.__=n.__N),n.u=n.__N=void 0})):(t.__h.forEach(Te),t.__h.forEach(Ge),t.__h=[],pe=0)),Ve=P},N.diffed=function(e){Pt&&Pt(e);var t=e.__c;t&&t.__H&&(t.__H.__h.length&&(Mt.push(t)!==1&&Ot===N.requestAnimationFrame||((Ot=N.requestAnimationFrame)||no)(to)),t.__H.__.forEach(function(n){n.u&&(n.__H=n.u),n.u=void 0})),Ve=P=null},N.__c=function(e,t){t.some(function(n){try{n.__h.forEach(Te),n.__h=n.__h.filter(function(o){return!o.__||Ge(o)})}catch(o){t.some(function(s){s.__h&&(s.__h=[])}),t=[],N.__e(o,n.__v)}}),Ct&&Ct(e,t)},N.unmount=function(e){Nt&&Nt(e);var t,n=e.__c;n&&n.__H&&(n.__H.__.forEach(function(o){try{Te(o)}catch(s){t=s}}),n.__H=void 0,t&&N.__e(t,n.__v))};var It=typeof requestAnimationFrame=="function";function no(e){var t,n=function(){clearTimeout(o),It&&cancelAnimationFrame(t),setTimeout(e)},o=setTimeout(n,35);It&&(t=requestAnimationFrame(n))}function Te(e){var t=P,n=e.__c;typeof n=="function"&&(e.__c=void 0,n()),P=t}function Ge(e){var t=P;e.__c=e.__(),P=t}function Ft(e,t){return!e||e.length!==t.length||t.some(function(n,o){return n!==e[o]})}function Ut(e,t){return typeof t=="function"?t(e):t}var m="../evenkeel/v1",ze="evenkeel-authorization",re=class extends Error{constructor(t,n,o=[]){super(n),this.status=t,this.roles=o}},Bt=0,ee=()=>Date.now()+Bt,$e=JSON.parse(sessionStorage.getItem(ze)||"{}");function Wt(e){$e=e,sessionStorage.setItem(ze,JSON.stringify(e))}function Vt(){$e={},sessionStorage.removeItem(ze)}function qe(){return Object.keys($e).length>0}function Gt(e,t){let n=new TextEncoder().encode(`${e}:${t}`);return{Authorization:`Basic ${btoa(String.fromCharCode(...n))}`}}function Kt(e){return{"X-Auth-Token":e}}async function Je(e,t,n,o=15e3){let s={Accept:"application/json",...$e};n!==void 0&&(s["Content-Type"]="application/json");let r;try{r=await fetch(t,{method:e,headers:s,body:n===void 0?void 0:JSON.stringify(n),credentials:"omit",cache:"no-store",signal:AbortSignal.timeout(o)})}catch(u){throw new re(0,`no answer from this controller: ${u.message}`)}oo(r);let a=await r.text(),l=a?Xt(a):null;if(!r.ok)throw qt(r,l);return l}function oo(e){let t=Date.parse(e.headers.get("Date")||"");t&&Math.abs(t+500-ee())>1e3&&(Bt=t+500-Date.now())}async function zt(e,t,{told:n,at:o,signal:s,silentMs:r}){let a=new AbortController,l=()=>a.abort();s.addEventListener("abort",l);let u=setTimeout(l,r);try{let c=await fetch(e,{headers:{Accept:"text/event-stream","Last-Event-ID":String(t),...$e},credentials:"omit",cache:"no-store",signal:a.signal});if(!c.ok)throw qt(c,Xt(await c.text()));let d=c.body.pipeThrough(new TextDecoderStream).getReader(),p="";for(;;){let{done:$,value:_}=await d.read();if($)return;clearTimeout(u),u=setTimeout(l,r);let k=(p+_).split(`

`);p=k.pop();let h=[];for(let b of k)for(let f of b.split(`
`))f.startsWith("id: ")&&o(Number(f.slice(4))),f.startsWith("data: ")&&h.push(JSON.parse(f.slice(6)));n(h)}}catch(c){throw c instanceof re?c:new re(0,`no answer from this controller: ${c.message}`)}finally{clearTimeout(u),s.removeEventListener("abort",l),a.abort()}}function qt(e,t){let n=(e.headers.get("X-Needs-Role")||"").split(", ").filter(Boolean);return new re(e.status,ro(t)||`HTTP ${e.status}`,n)}var V=e=>e.catch(t=>{if(t.status!==403)throw t;return{refused:t}}),Jt=(e,t,n)=>Je("POST",e,t,n),y=e=>Je("GET",e),Yt=(e,t)=>Je("PUT",e,t);function Xt(e){try{return JSON.parse(e)}catch{return null}}function ro(e){return e&&(e.faultstring||e.reason||e.error&&e.error.message||e.detail)}var Qt=new URLSearchParams(location.search).get("demo"),so="../demo/controls",ao=2e3;async function Zt(e){let t=await fetch(so,{method:e?"POST":"GET",headers:{"X-Demo-Token":Qt,"Content-Type":"application/json"},body:e&&JSON.stringify(e),cache:"no-store"}),n=await t.json();if(!t.ok)throw new Error(n.reason||`HTTP ${t.status}`);return n}function en(){let[e,t]=A(null),[n,o]=A(""),[s,r]=A("");if(D(()=>{if(!Qt)return;let u=()=>Zt().then(t,()=>t(null));u();let c=setInterval(()=>document.hidden||u(),ao);return()=>clearInterval(c)},[]),!e)return null;let a=n||e.agents[0].host,l=(u,c)=>i`<button
      type="button"
      disabled=${!e.offered}
      onClick=${()=>Zt({action:c,host:a}).then(d=>(t(d),r("")),d=>r(d.message))}
    >
      ${u}
    </button>`;return i`<section class="demo" aria-label="Demo">
    <strong>Demo</strong>
    <label
      >Agent${" "}
      <select value=${a} onChange=${u=>o(u.target.value)}>
        ${e.agents.map(u=>i`<option value=${u.host}>${u.host}, ${u.state}</option>`)}
      </select></label
    >
    ${l("Kill it","kill")} ${l("Freeze it","freeze")} ${l("Cut the device off","cut")} ${l("Heal everything","heal")}
    <span role="status">${s||(e.offered?`Device: ${e.device}`:"It tells its story first; the buttons come at its end.")}</span>
  </section>`}var io=1e4,lo=2e3,co=200,uo=100,po=4e4,tn=[1e3,1e3,2e3,5e3];function nn(){let[e,t]=A({events:[],error:null,newest:0,connected:!1});return D(()=>{let n=new AbortController,o=null,s=()=>document.hidden&&o&&o.abort();document.addEventListener("visibilitychange",s),n.signal.addEventListener("abort",()=>{document.removeEventListener("visibilitychange",s),o&&o.abort()});let r=null,a=0,l=c=>{a=0,t(d=>_o(d,c))};async function u(){for(;!n.signal.aborted;){if(await $o(),n.signal.aborted)return;o=new AbortController;try{if(r===null){let c=(await y(`${m}/events?limit=${uo}&newest=true`)).events;r=c.length?c[0].id-1:0,l(c)}await zt(`${m}/events`,r,{told:l,at:c=>r=c,signal:o.signal,silentMs:po})}catch(c){if(n.signal.aborted)return;if(o.signal.aborted)continue;if(t(d=>({...d,error:c,connected:!1})),c.status===401||c.status===403)return}await new Promise(c=>setTimeout(c,tn[Math.min(a++,tn.length-1)]))}}return u(),()=>n.abort()},[]),e}function $o(){return document.hidden?new Promise(e=>document.addEventListener("visibilitychange",e,{once:!0})):Promise.resolve()}function _o(e,t){let n=new Set(e.events.map(r=>r.id)),o=t.filter(r=>!n.has(r.id));return!o.length&&e.connected&&!e.error?e:{events:[...o,...e.events].sort((r,a)=>a.id-r.id).slice(0,co),error:null,connected:!0,newest:e.newest+o.length}}function O(e,t,n=[]){let[o,s]=A({data:null,error:null,at:0}),r=U(0),a=U(0),l=Ht(async()=>{let u=++r.current;a.current=Date.now();try{let c=await e();u===r.current&&s({data:c,error:null,at:ee()})}catch(c){u===r.current&&s(d=>({...d,error:c}))}},n);return D(()=>(a.current=0,()=>{r.current+=1}),[l]),D(()=>{let u=setTimeout(l,Math.max(0,a.current+lo-Date.now())),c=setInterval(()=>document.hidden||l(),io);return()=>{clearTimeout(u),clearInterval(c)}},[l,t]),{...o,again:l}}var Ye="evenkeel-moved";function on(){let[e,t=""]=location.hash.replace(/^#\/?/,"").split("?");return{parts:e.split("/").map(fo),query:Object.fromEntries(new URLSearchParams(t))}}function fo(e){try{return decodeURIComponent(e)}catch{return e}}function rn(){let[e,t]=A(on);return D(()=>{let n=()=>t(on());for(let o of["hashchange",Ye])addEventListener(o,n);return()=>{for(let o of["hashchange",Ye])removeEventListener(o,n)}},[]),e}function L(e,t={}){let n=new URLSearchParams(Object.entries(t).filter(([,o])=>o));return`#/${e}${n.size?`?${n}`:""}`}function sn(e,{instead:t=!1}={}){history[t?"replaceState":"pushState"](null,"",e),dispatchEvent(new Event(Ye))}var mo=new Set(["ACTIVE","ONLINE","up","connected","reached","served","closed"]),ho=new Set(["DEGRADED","DRAINING"]),go=new Set(["ERROR","OFFLINE","silent","forced_down","unserved","halted","out of reach","failed","expired"]),_e=e=>mo.has(e)?"good":go.has(e)?"bad":ho.has(e)?"unsure":"other";function w({value:e}){let t=_e(e),n={good:"●",bad:"▲",unsure:"◆",other:"◌"}[t];return i`<span class="status ${t}"><span aria-hidden="true">${n}</span> ${e}</span>`}var C=e=>e&&/^([0-9a-f]{8}-|[0-9a-f]{32}$)/.test(e)?e.slice(0,8):e;function q(e){if(!e)return"";let t=Math.max(0,(ee()-Date.parse(e.endsWith("Z")?e:`${e}Z`))/1e3);return t<120?`${Math.round(t)} s`:t<7200?`${Math.round(t/60)} min`:t<172800?`${Math.round(t/3600)} h`:`${Math.round(t/86400)} d`}var an=e=>`${Math.max(0,e/1e3).toFixed(1)} s`,fe=e=>e.replace("T"," ").slice(0,19);function W(e){for(let[t,n]of[["G",1e9],["M",1e6],["k",1e3]])if(e>=n)return`${(e/n).toPrecision(3)} ${t}`;return e>0&&e<.001?"< 0.001":e>=10||Number.isInteger(e)?String(Math.round(e)):e.toPrecision(2)}function te({facts:e}){return i`<dl class="facts">
    ${e.filter(([,t])=>t!=="").map(([t,n])=>i`<div><dt>${t}</dt><dd>${n}</dd></div>`)}
  </dl>`}function x({command:e,path:t,method:n="GET"}){return i`<p class="also">
    The same: <code>${e}</code>${t&&i` · <code>${n} ${t.replace(/^\.\./,"")}</code>`}
  </p>`}function S({error:e,loading:t}){return e&&e.status===403?i`<${me} error=${e} />`:e?i`<p class="failure" role="alert">${e.message}</p>`:t&&i`<p>Loading…</p>`}function me({error:e}){return i`<p class="empty">${e.roles.length?`Needs the role ${e.roles.join(" or ")}.`:e.message}</p>`}function H({caption:e,columns:t,rows:n,empty:o,order:s}){return n?n.length?i`<div class="scroll" tabindex="0" role="region" aria-label=${e}>
    <table>
      <caption>
        ${e}
      </caption>
      <thead>
        <tr>
          ${t.map(([r,,a])=>i`<${vo} title=${r} sortKey=${a} order=${s} />`)}
        </tr>
      </thead>
      <tbody>
        ${n.map(r=>i`<tr key=${r.id||r.name}>${t.map(([a,l])=>i`<td data-title=${a}>${l(r)}</td>`)}</tr>`)}
      </tbody>
    </table>
  </div>`:i`<p class="empty">${o}</p>`:null}function vo({title:e,sortKey:t,order:n}){if(!t||!n)return i`<th scope="col">${e}</th>`;let o=n.key===t?n.descending?"descending":"ascending":null,s={ascending:"▲",descending:"▼"}[o]||"";return i`<th scope="col" aria-sort=${o}>
    <a class="order" href=${n.link(t,o==="ascending")}>${e} <span aria-hidden="true">${s}</span></a>
  </th>`}function he({text:e,about:t}){let[n,o]=A(!1);async function s(){await bo(e),o(!0),setTimeout(()=>o(!1),2e3)}return i`<button type="button" class="copy" onClick=${s} aria-label=${`Copy ${t}`}><span role="status">${n?"Copied":"Copy"}</span></button>`}async function bo(e){if(navigator.clipboard)return navigator.clipboard.writeText(e);let t=document.createElement("textarea");t.value=e,document.body.append(t),t.select(),document.execCommand("copy"),t.remove()}function ge({label:e,about:t,question:n,path:o,body:s,command:r,done:a,send:l=Yt}){let[u,c]=A(!1),[d,p]=A(null),$=U(null);D(()=>{u&&$.current.showModal()},[u]);async function _(){try{await l(o,s),p(null),c(!1),a()}catch(k){p(k)}}return i`<button type="button" onClick=${()=>c(!0)} aria-label=${t?`${e} ${t}`:null}>${e}</button>
    ${u&&i`<dialog ref=${$} onClose=${()=>c(!1)} aria-label=${t?`${e} ${t}`:e}>
      <p>${n}</p>
      ${r&&i`<p class="also">The same: <code>${r}</code></p>`}
      <${S} error=${d} />
      <button type="button" class="confirm" onClick=${_}>${e}</button>
      <button type="button" onClick=${()=>c(!1)}>Cancel</button>
    </dialog>`}`}var Ae=50,ln=e=>`${e.environment}/${e.group_number}`,cn=e=>e.alive?`${e.devices.filter(t=>t.reachable).length} of ${e.devices.length}`:"not known";function un({live:e}){let{data:t,error:n,at:o,again:s}=O(async()=>(await y(`${m}/agents`)).agents,e.newest);return i`<h1>Agents</h1>
    <${S} error=${n} loading=${!t} />
    <${H} caption="Agents" columns=${[["Host",a=>i`<a href="#/agents/${a.id}">${a.host}</a>`],["Device group",ln],["State",a=>i`<${w} value=${a.state} />`],["Lease",a=>pn(a,o)],["Last report",a=>q(a.reported_at)],["Shards",a=>a.acting_shards],["At home",a=>a.home_shards],["Queue",a=>a.queue_depth],["Devices in reach",cn],["Why not",a=>a.waiting_reason||a.away_reason],["Action",a=>i`<${dn} agent=${a} done=${s} />`]]} rows=${t} empty="No agent has registered yet. evenkeel-agent on a host that reaches the devices does." />
    <${x} command="evenkeel agent list" path="${m}/agents" />`}function pn(e,t){return e.alive&&e.session_expires_at?`${an(Date.parse(`${e.session_expires_at}Z`)-t)} left`:e.silent_since?`silent for ${q(e.silent_since)}`:"none"}function dn({agent:e,done:t}){let n=e.admin_state_up;return i`<${ge}
    label=${n?"Drain":"Undrain"}
    about=${e.host}
    question=${n?`Drain ${e.host}? Its ${e.acting_shards} shards are handed over to other agents, and it gets no new ones.`:`Put ${e.host} back into service? Its shards come home.`}
    path="${m}/agents/${e.id}/${n?"drain":"undrain"}"
    command="evenkeel agent ${n?"drain":"undrain"} ${e.host}"
    done=${t}
  />`}function $n({id:e,live:t}){async function n(){let[u,c,d]=await Promise.all([y(`${m}/agents/${e}`),y(`${m}/shards?agent_id=${e}`),V(y(`${m}/agents/${e}/loadbalancers?limit=${Ae}`))]);return{agent:u.agent,shards:c.shards.filter(p=>p.project_id),balancers:d}}let{data:o,error:s,at:r,again:a}=O(n,t.newest,[e]),l=o&&o.agent;return i`<p><a href="#/agents">All agents</a></p>
    <h1>${l?l.host:C(e)}</h1>
    <${S} error=${s} loading=${!o} />
    ${l&&i`<${te}
        facts=${[["State",i`<${w} value=${l.state} />`],["Device group",ln(l)],["Lease",pn(l,r)],["Last report",q(l.reported_at)],["Shards that it acts for",l.acting_shards],["Shards whose home it is",l.home_shards],["Queue",l.queue_depth],["Devices in reach",cn(l)],["Why shards wait",l.waiting_reason||l.away_reason],["Device driver",l.device_driver]]}
      />
      <p class="actions"><${dn} agent=${l} done=${a} />
      ${l.away_shards>0&&i`<${ge}
        label="Fail back"
        about=${l.host}
        question="Hand the ${l.away_shards} shards whose home is ${l.host} back to it?"
        path="${m}/agents/${e}/failback"
        command="evenkeel agent failback ${l.host}"
        done=${a}
      />`}</p>
      <h2>Devices as it sees them</h2>
      <${H}
        caption="Devices"
        columns=${[["Device",u=>u.own_name||u.name],["Address",u=>u.name],["Reached",u=>i`<${w} value=${u.reachable===null?"not known":u.reachable?"reached":"out of reach"} />`],["Failover",u=>u.failover_state],["Config sync",u=>u.sync_state],["Version",u=>u.version],["Problem",u=>u.problem]]}
        rows=${l.devices}
        empty="It has not reported a device yet."
      />
      <h2>Shards</h2>
      <${H}
        caption="Shards"
        columns=${[["Tenant",u=>i`<span title=${u.project_id}>${C(u.project_id)}</span>`],["Epoch",u=>u.epoch],["It is",u=>yo(u,e)],["Served",u=>i`<${w} value=${u.served?"served":"unserved"} />`]]}
        rows=${o.shards.slice(0,Ae)}
        empty="It has no tenant."
      />
      ${o.shards.length>Ae&&i`<p>${o.shards.length-Ae} more: <code>evenkeel shard list --agent ${l.host}</code></p>`}
      <h2>Load balancers</h2>
      <${S} error=${o.balancers.refused} />
      <${H}
        caption="Load balancers"
        columns=${[["Name",u=>i`<a href="#/loadbalancers/${u.id}">${u.name||C(u.id)}</a>`],["VIP",u=>u.vip_address],["Provisioning",u=>i`<${w} value=${u.provisioning_status} />`],["Operating",u=>i`<${w} value=${u.operating_status} />`]]}
        rows=${o.balancers.loadbalancers}
        empty="None."
      />`}
    <${x} command="evenkeel agent show ${l?l.host:e}" path="${m}/agents/${e}" />`}function yo(e,t){let n=[];return e.acting_agent_id===t&&n.push("acting agent"),e.home_agent_id===t&&n.push("home"),n.join(", ")}var wo=864e5,ko=7,xo=30,So=[["All",{}],["Expire within 30 days",{expiring_days:"30"}],["Cannot be read",{unreadable:"true"}]];function Eo({until:e}){if(!e)return"–";let t=Math.floor((Date.parse(`${e}Z`)-ee())/wo);if(t<0)return i`<${w} value="expired" />`;let n=t<ko?"bad":t<xo?"unsure":"good";return i`<span class="status ${n}" title=${`until ${e} UTC`}><span aria-hidden="true">${{bad:"▲",unsure:"◆",good:"●"}[n]}</span> ${t} ${t===1?"day":"days"} left</span>`}function To({rows:e,caption:t,empty:n,more:o=[]}){let s=[["Reference",r=>i`<code>${r.reference}</code>`],["Kind",r=>r.kind.replace("_"," ")],["Valid",r=>i`<${Eo} until=${r.not_after} />`],["Subject",r=>r.subject||"–"],["Names",r=>(r.dns_names||[]).join(", ")],["Problem",r=>r.problem&&i`<${w} value="failed" /> ${r.problem}`],...o];return i`<${H} caption=${t} columns=${s} rows=${e.map(r=>({...r,id:`${r.project_id} ${r.kind} ${r.reference}`}))} empty=${n} />`}function _n({live:e,query:t}){let n=new URLSearchParams(Object.entries(t).filter(([a])=>["expiring_days","unreadable","project_id"].includes(a))),o=`${m}/references${n.size?`?${n}`:""}`,{data:s,error:r}=O(async()=>(await y(o)).references,e.newest,[o]);return i`<h1>Certificates</h1>
    <nav class="filters" aria-label="Which">
      ${So.map(([a,l])=>i`<a href=${L("certificates",l)} aria-current=${String(new URLSearchParams(l))===String(n)?"true":null}>${a}</a>`)}
    </nav>
    <${S} error=${r} loading=${!s} />
    ${s&&i`<${To}
      rows=${s}
      caption="Certificates in use"
      empty=${n.size?"None is like that.":"No listener or pool refers to a certificate."}
      more=${[["Load balancers",a=>a.load_balancers],["Project",a=>i`<a href=${L("loadbalancers",{project_id:a.project_id})}>${a.project_id.slice(0,8)}</a>`]]}
    />`}
    <${x} command="evenkeel certificate list --expiring 36500" path=${o} />`}var Ao=async()=>(await y(`${m}/topology`)).topology;function fn({live:e}){let{data:t,error:n}=O(Ao,e.newest),o=t&&t.groups.flatMap(r=>r.devices.map(a=>({...a,id:`${r.environment}/${r.group_number}/${a.name}`,group:r})));return i`<h1>Devices</h1>
    <p>What agents say of the devices of their group: of several the one that reaches it.</p>
    <${S} error=${n} loading=${!t} />
    <${H} caption="Devices" columns=${[["Device",r=>r.own_name||r.name],["Address",r=>r.name],["Device group",r=>`${r.group.environment}/${r.group.group_number}`],["Type",r=>r.group.device_driver],["State",r=>i`<${w} value=${r.reachable?"reached":"out of reach"} />`],["Failover",r=>r.failover_state],["Config sync",r=>r.sync_state],["Version",r=>r.version],["Reached by",r=>r.reached_by.join(", ")],["Not reached by",r=>r.missed_by.join(", ")],["Problem",r=>r.problem]]} rows=${o} empty="No agent has reported a device yet." />
    <${x} command="evenkeel device list" path="${m}/topology" />`}function mn({live:e}){let{data:t,error:n}=O(async()=>(await y(`${m}/controllers`)).controllers,e.newest);return i`<h1>Controllers</h1>
    <p>They are all alike and keep nothing: any of them may end. A silent one is listed for ten minutes.</p>
    <${S} error=${n} loading=${!t} />
    <${H} caption="Controllers" columns=${[["URL",s=>s.url],["Host",s=>s.host],["State",s=>i`<${w} value=${s.alive?"up":"silent"} />`],["Message broker",s=>i`<${w} value=${s.message_broker==="connected"?"connected":"out of reach"} /> ${s.message_broker==="connected"?"":s.message_broker}`],["Version",s=>s.version],["Up for",s=>s.alive?q(s.started_at):""],["Seen",s=>`${q(s.seen_at)} ago`]]} rows=${t} empty="None has been seen yet." />
    <${x} command="evenkeel controller list" path="${m}/controllers" />`}function hn({live:e}){let{data:t,error:n,again:o}=O(async()=>(await y(`${m}/environments`)).environments,e.newest);return i`<h1>Environments</h1>
    <${S} error=${n} loading=${!t} />
    <${H} caption="Environments" columns=${[["Name",r=>r.name],["Device driver",r=>r.device_driver],["Failback",r=>r.failback],["Circuit breaker",r=>r.halted?i`<${w} value="halted" /> ${r.halted}`:i`<${w} value="closed" />`],["Opens at",r=>`${r.breaker_agents} agents and ${Math.round(r.breaker_share*100)} % silent`],["Action",r=>r.halted&&i`<${Oo} row=${r} done=${o} />`]]} rows=${t} empty="There is no environment yet." />
    <${x} command="evenkeel environment list" path="${m}/environments" />`}function Oo({row:e,done:t}){return i`<${ge}
    label="Resume"
    about=${e.name}
    command="evenkeel environment resume ${e.name}"
    question="Are the silent agents of ${e.name} lost for good? Their shards move to others."
    path="${m}/environments/${e.name}/resume"
    done=${t}
  />`}function Ro({request_id:e,client_address:t}){return e?`from ${t}, ${e}`:null}function Xe({events:e}){return e.length?i`<ol class="events">
    ${e.map(t=>i`<li key=${t.id}>
        <time>${t.at.replace("T"," ").slice(0,19)}</time>${" "}<span class="kind">${t.kind}</span>${" "}
        <span title=${Ro(t)}>${t.load_balancer_id?i`<a href="#/loadbalancers/${t.load_balancer_id}">${t.text}</a>`:t.text}</span>
      </li>`)}
  </ol>`:i`<p>No events yet.</p>`}function Ze({live:e,most:t}){return e.error&&e.error.status===403?i`<${me} error=${e.error} />`:i`<${Xe} events=${t?e.events.slice(0,t):e.events} />`}function gn({live:e}){return i`<h1>Events</h1>
    <p>New ones appear at the top, times are UTC.</p>
    <div aria-live="polite"><${Ze} live=${e} /></div>
    <${x} command="evenkeel events --follow" path="${m}/events?newest=true" />`}var J="../v2/lbaas",wn=50,Do=250,Po=["ERROR","PENDING_CREATE","PENDING_UPDATE","PENDING_DELETE","ACTIVE","DELETED"],Co=["ONLINE","OFFLINE","DEGRADED","ERROR","DRAINING","NO_MONITOR"],No=/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,Lo=/^[0-9.]{7,15}$|:/,kn=["q","provisioning_status","operating_status","environment","group_number","project_id","held","sort","marker","page_reverse"];function vn(e){let t=kn.filter(n=>e[n]).map(n=>[n,e[n]]);return`${m}/loadbalancers?${new URLSearchParams([...t,["limit",wn]])}`}function bn({q:e,environment:t,group_number:n,held:o,...s}){let r=new URLSearchParams({...s,limit:wn});return t&&r.set("provider",t),e&&r.set(No.test(e)?"id":Lo.test(e)?"vip_address":"name",e),`${J}/loadbalancers?${r}`}async function Io(e){let t=await V(y(vn(e)));if(!t.refused)return{...t,path:vn(e)};let n=await y(bn(e)),o=n.loadbalancers.map(s=>({...s,environment:s.provider,group_number:null}));return{...n,loadbalancers:o,path:bn(e),own:!0}}function xn({live:e,query:t}){let n=JSON.stringify(t),{data:o,error:s}=O(()=>Io(t),e.newest,[n]),r=(d,p)=>sn(L("loadbalancers",{...t,marker:"",page_reverse:"",...d}),p),[a="",l]=(t.sort||"").split(":"),u={key:a,descending:l==="desc",link:(d,p)=>L("loadbalancers",{...t,marker:"",page_reverse:"",sort:`${d}:${p?"desc":"asc"}`})},c=[["Name",d=>i`<a href="#/loadbalancers/${d.id}">${d.name||C(d.id)}</a>${d.held&&i` <span class="tag">held</span>`}`,"name"],["Id",d=>i`<code title=${d.id}>${C(d.id)}</code>`],["VIP",d=>d.vip_address,"vip_address"],["Provisioning",d=>i`<${w} value=${d.provisioning_status} />`,"provisioning_status"],["Operating",d=>i`<${w} value=${d.operating_status} />`,"operating_status"],["Place",d=>d.group_number===null?d.environment:`${d.environment}/${d.group_number}`],["Project",d=>i`<a title=${d.project_id} href=${L("loadbalancers",{project_id:d.project_id})}>${C(d.project_id)}</a>`],["Age",d=>q(d.created_at),"created_at"],["Reason",d=>d.status_reason||d.operating_reason]];return i`<div class="heading"><h1>Load balancers</h1>${o&&i`<${Mo} data=${o} />`}</div>
    <${Ho} query=${t} ask=${r} live=${e} />
    <${S} error=${s} loading=${!o} />
    ${o&&i`<${H} caption="Load balancers" columns=${c} rows=${o.loadbalancers} empty="None is like that." order=${u} />
      <${jo} links=${o.loadbalancers_links||[]} query=${t} />
      <${x} command="evenkeel loadbalancer list" path=${o.path} />`}`}function Mo({data:e}){if(e.own)return null;let t=e.total.toLocaleString("en");return i`<p class="total" role="status">${e.total_is_exact?t:`more than ${t}`} ${e.total===1?"load balancer":"load balancers"}</p>`}function jo({links:e,query:t}){if(!e.length)return null;let n=(s,r)=>{let a=e.find(d=>d.rel===s);if(!a)return i`<span class="away">${r}</span>`;let l=new URL(a.href,location.href).searchParams,[u,c]=[l.get("marker"),l.get("page_reverse")||""];return i`<a rel=${s==="next"?"next":"prev"} href=${L("loadbalancers",{...t,marker:u,page_reverse:c})}>${r}</a>`},o=L("loadbalancers",{...t,marker:"",page_reverse:""});return i`<nav class="pages" aria-label="Pages">
    ${t.marker?i`<a href=${o}>First</a>`:i`<span class="away">First</span>`} ${n("previous","Previous")} ${n("next","Next")}
  </nav>`}function Ho({query:e,ask:t,live:n}){let o=O(async()=>(await V(y(`${m}/environments`))).environments||[],n.newest).data||[],s=Fo(e.environment),r=(l,u,c,d={})=>i`<label
      >${l}
      <select value=${e[u]||""} onChange=${p=>t({[u]:p.target.value,...d})}>
        <option value="">any</option>
        ${c.map(p=>Array.isArray(p)?i`<option value=${p[0]}>${p[1]}</option>`:i`<option>${p}</option>`)}
      </select></label
    >`,a=kn.some(l=>e[l]&&l!=="sort"&&l!=="marker"&&l!=="page_reverse");return i`<form class="search" role="search" onSubmit=${l=>l.preventDefault()}>
    <${yn} label="Search" type="search" wide value=${e.q||""} hint="name, VIP, member's address, project or id" told=${l=>t({q:l},{instead:!!e.q&&!!l})} />
    ${r("Provisioning","provisioning_status",Po)} ${r("Operating","operating_status",Co)}
    ${o.length>0&&r("Environment","environment",o.map(l=>l.name),{group_number:""})}
    ${e.environment&&r("Device group","group_number",s)}
    <${yn} label="Project" value=${e.project_id||""} hint="whole id" told=${l=>t({project_id:l})} />
    ${r("Switched over","held",[["false","yes"],["true","no: held"]])}
    ${a&&i`<a class="clear" href=${L("loadbalancers",{sort:e.sort})}>Clear</a>`}
  </form>`}function Fo(e){return O(async()=>{if(!e)return[];let{agents:n=[]}=await V(y(`${m}/agents?environment=${encodeURIComponent(e)}`));return[...new Set(n.map(o=>o.group_number))].sort((o,s)=>o-s).map(String)},0,[e]).data||[]}function yn({label:e,value:t,hint:n,told:o,wide:s,type:r="text"}){let[a,l]=A(t),u=U(0),c=U(t);D(()=>{t!==c.current&&l(t),c.current=t},[t]);function d(p){let $=p.target.value;l($),clearTimeout(u.current),u.current=setTimeout(()=>{c.current=$.trim(),o(c.current)},Do)}return D(()=>()=>clearTimeout(u.current),[]),i`<label class=${s?"wide":""}>${e} <input type=${r} value=${a} onInput=${d} placeholder=${n} maxlength="255" spellcheck="false" autocomplete="off" /></label>`}var Qe={listener:["listener","listener","listener",e=>`listeners/${e}`],pool:["pool","pool","pool",e=>`pools/${e}`],member:["member","member","member",(e,t)=>`pools/${t}/members/${e}`],healthmonitor:["health monitor","healthmonitor","healthmonitor",e=>`healthmonitors/${e}`],l7policy:["L7 policy","l7policy","l7policy",e=>`l7policies/${e}`],rule:["L7 rule","rule","l7rule",(e,t)=>`l7policies/${t}/rules/${e}`]},et={listeners:"listener",pools:"pool",members:"member",l7policies:"l7policy",rules:"rule"},En=new Set(["member","rule"]),Uo=new Set(["provisioning_status","operating_status"]),tt=(e,t,n,o)=>`#/loadbalancers/${e}/${t}/${n}${En.has(t)?`/${o}`:""}`;function Tn(e){let t=new Map(e.pools.map(s=>[s.id,s])),n=new Set,o=e.listeners.map(s=>{let r=new Set([s.default_pool_id,...s.l7policies.map(a=>a.redirect_pool_id)]);for(let a of r)n.add(a);return{...s,pools:[...r].filter(a=>t.has(a)).map(a=>t.get(a))}});return{...e,listeners:o,pools:e.pools.filter(s=>!n.has(s.id))}}function nt({node:e,kind:t,root:n,parent:o}){let s=Object.entries(et).flatMap(([l,u])=>(e[l]||[]).map(c=>[u,c]));e.health_monitor&&s.push(["healthmonitor",e.health_monitor]);let r=e.address?` ${e.address}:${e.protocol_port}`:"",a=e.name||e.type||C(e.id);return i`<ul class="tree">
    <li>
      <span class="kind">${t?Qe[t][0]:"load balancer"}</span>${" "}
      ${t?i`<a href=${tt(n,t,e.id,o)}>${a}${r}</a>`:a}${" "}
      <${w} value=${e.provisioning_status} />${e.status_reason&&` ${e.status_reason}`}${e.operating_status&&i` <${w} value=${e.operating_status} />`}
      ${s.map(([l,u])=>i`<${nt} node=${u} kind=${l} root=${n} parent=${e.id} />`)}
    </li>
  </ul>`}function An({root:e,kind:t,id:n,parent:o,live:s}){let[r,a,l,u]=Qe[t]||Qe.listener,{data:c,error:d}=O(async()=>(await y(`${J}/${u(n,o)}`))[a],s.newest,[t,n,o]);return i`<p><a href="#/loadbalancers/${e}">The load balancer</a></p>
    <h1>${r} ${c?c.name||C(n):C(n)}</h1>
    <${S} error=${d} loading=${!c} />
    ${c&&i`<${te} facts=${Object.entries(c).map(([p,$])=>[p,Bo(p,$,e,n,c)])} />`}
    <${x}
      command="openstack loadbalancer ${l} show ${En.has(t)?`${o} `:""}${n}"
      path="${J}/${u(n,o)}"
    />`}var Sn={default_pool_id:"pool",redirect_pool_id:"pool",healthmonitor_id:"healthmonitor",listener_id:"listener",pool_id:"pool"};function Bo(e,t,n,o){return Uo.has(e)?i`<${w} value=${t} />`:t==null||t===""?"–":Sn[e]?i`<a href=${tt(n,Sn[e],t,o)}>${C(t)}</a>`:Array.isArray(t)&&et[e]&&t.every(s=>s&&s.id)?t.length?t.map(s=>i`<a href=${tt(n,et[e],s.id,o)}>${C(s.id)}</a>${" "}`):"none":typeof t=="object"?JSON.stringify(t)==="[]"?"none":i`<code>${JSON.stringify(t)}</code>`:String(t)}var se=220,[ae,ot,Oe,Re]=[52,12,10,24],On=4,De=36e5,Wo={1:De/6,6:De,24:4*De},Vo=420,st=e=>Date.parse(`${e}Z`),rt=e=>new Date(e).toISOString().slice(11,16),ne=e=>e!=null;function Go(e){let t=10**Math.floor(Math.log10(e));return[1,2,4,5,10].find(n=>n*t>=e*.9999)*t}function Ko(){let e=U(null),[t,n]=A(600);return D(()=>{let o=new ResizeObserver(([s])=>n(Math.round(s.contentRect.width)));return o.observe(e.current),()=>o.disconnect()},[]),[e,t]}function at(e,t,n){let o=[],s=null;for(let r of e){if(!ne(r[t])){s=null;continue}s!==null&&r.time-s<=n?o[o.length-1].push(r):o.push([r]),s=r.time}return o}function it(e,t,n,o,s){let r=[],a=n;for(let l of e)t.some(u=>ne(l[u]))&&(l.time-a>s&&r.push([a,l.time]),a=l.time);return o-a>s&&r.push([a,o]),r}function Rn({title:e,unit:t,figures:n,points:o,hours:s,stepMs:r,to:a,sparse:l}){let[u,c]=Ko(),[d,p]=A(null),$=a-s*De,_=o.map(g=>({...g,time:st(g.at)})).filter(g=>g.time>=$),k=n.map(([g])=>g),h=r*1.75,b=_.flatMap(g=>k.map(R=>g[R])).filter(ne),f=Math.max(0,...b),v=f>0?Go(f):1,E=g=>ae+(g-$)/(a-$)*(c-ae-ot),I=g=>se-Re-g/v*(se-Oe-Re),j=d===null?null:_[Math.min(d,_.length-1)],F=l?_.filter(g=>ne(g[k[0]])).pop():_[_.length-1],ie=l||"not known yet",Y=g=>k.some(R=>ne(g[R]))?Z(g):"not known",Z=g=>n.map(([R,K])=>`${K} ${ne(g[R])?`${W(g[R])} ${t}`:"not known"}`).join(", ");function le(g){if(!_.length)return;let R=$+(g.clientX-g.currentTarget.getBoundingClientRect().left-ae)/(c-ae-ot)*(a-$);p(_.reduce((K,ve,Kn)=>Math.abs(ve.time-R)<Math.abs(_[K].time-R)?Kn:K,0))}function B(g){let R={ArrowLeft:-1,ArrowRight:1}[g.key];!R||!_.length||(g.preventDefault(),p(Math.max(0,Math.min(_.length-1,(d===null?_.length:d)+R))))}let G=Wo[s]*(c<Vo?2:1),ct=[];for(let g=Math.ceil($/G)*G;g<=a;g+=G)ct.push(g);let ut=`unknown-${e.replace(/\W/g,"")}`;return i`<figure class="big chart" ref=${u}>
    <figcaption>
      <span class="name">${e}</span>
      <span class="unit">${t}</span>
      <span class="read" role="status">${j?`${rt(j.time)} UTC: ${Y(j)}`:F?`${l?`last, ${rt(F.time)}`:"now"}: ${Y(F)}`:ie}</span>
    </figcaption>
    <svg
      width=${c}
      height=${se}
      role="img"
      tabindex="0"
      aria-label="${e} over the last ${s} h; ${F?Y(F):ie}. Arrow keys read single points."
      onPointerMove=${le}
      onPointerLeave=${()=>p(null)}
      onKeyDown=${B}
      onBlur=${()=>p(null)}
    >
      <defs>
        <pattern id=${ut} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line y2="6" class="hatch" /></pattern>
      </defs>
      ${!l&&it(_,k,$,a,h).map(([g,R])=>i`<rect class="unknown" fill="url(#${ut})" x=${E(g)} y=${Oe} width=${Math.max(0,E(R)-E(g))} height=${se-Oe-Re} />`)}
      ${Array.from({length:On+1},(g,R)=>v*R/On).map(g=>i`<g class="axis"><line x1=${ae} x2=${c-ot} y1=${I(g)} y2=${I(g)} /><text x=${ae-6} y=${I(g)+4} text-anchor="end">${g===0?"0":b.length?W(g):""}</text></g>`)}
      ${ct.map(g=>i`<text class="hour" x=${E(g)} y=${se-6} text-anchor="middle">${rt(g)}</text>`)}
      ${n.map(([g],R)=>at(_,g,l?1/0:h).map(K=>K.length>1?i`<polyline class="series-${R}" points=${K.map(ve=>`${E(ve.time).toFixed(1)},${I(ve[g]).toFixed(1)}`).join(" ")} />`:i`<circle class="series-${R}" cx=${E(K[0].time)} cy=${I(K[0][g])} r="3" />`))}
      ${j&&i`<line class="cursor" x1=${E(j.time)} x2=${E(j.time)} y1=${Oe} y2=${se-Re} />
        ${n.map(([g],R)=>ne(j[g])&&i`<circle class="series-${R} at" cx=${E(j.time)} cy=${I(j[g])} r="4" />`)}`}
    </svg>
    <ul class="legend">
      ${n.map(([,g],R)=>i`<li class="series-${R}">${g}</li>`)}
      ${!l&&i`<li class="gap">not known</li>`}
    </ul>
  </figure>`}var Dn=240,Pe=60,Pn=3,zo=1.75;function qo({title:e,figures:t,points:n,seconds:o,to:s}){let r=Object.keys(t),a=n.map(f=>({...f,time:st(f.at)})),l=a.length?a[0].time:s,u=o*1e3*zo,c=Math.max(1e-9,...a.flatMap(f=>r.map(v=>f[v]??0))),d=f=>((f-l)*Dn/Math.max(1,s-l)).toFixed(1),p=f=>(Pe-2-f/c*(Pe-6)).toFixed(1),$=(f,v)=>{let E=v.map(F=>[d(F.time),p(F[f])]);if(E.length>1)return E.map(F=>F.join(",")).join(" ");let[[I,j]]=E;return`${I-Pn},${j} ${+I+Pn},${j}`},_=a[a.length-1],h=_&&s-_.time<=u?r.map(f=>`${t[f]&&`${t[f]} `}${W(_[f])}`).join(" "):"not known",b=`unknown-${e.replace(/\W/g,"")}`;return i`<figure class="chart">
    <figcaption>${e} <strong>${h}</strong></figcaption>
    <svg viewBox="0 0 ${Dn} ${Pe}" role="img" aria-label="${e}, now ${h}, at most ${W(c)}" preserveAspectRatio="none">
      <defs>
        <pattern id=${b} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line y2="6" class="hatch" /></pattern>
      </defs>
      ${it(a,r,l,s,u).map(([f,v])=>i`<rect class="unknown" fill="url(#${b})" x=${d(f)} width=${d(v)-d(f)} height=${Pe} />`)}
      ${r.flatMap((f,v)=>at(a,f,u).map(E=>i`<polyline class="series-${v}" points=${$(f,E)} />`))}
    </svg>
  </figure>`}var Cn=({lines:e,points:t,seconds:n,to:o})=>i`<div class="charts">
    ${e.map(([s,r])=>i`<${qo} key=${s} title=${s} figures=${r} points=${t} seconds=${n} to=${o} />`)}
  </div>`;var Jo=[["Connections per second",{connections:""}],["Open connections",{active_connections:""}],["Bytes per second",{bytes_in:"in",bytes_out:"out"}],["Errors per second",{request_errors:""}]],Yo=[...Jo,["Members online",{members_online:"",members:"of"}]];function Nn({id:e,turn:t}){let n=`${m}/loadbalancers/${e}/series`,{data:o,error:s,at:r}=O(()=>y(n),t,[e]);if(s&&s.status===403)return i`<h2>Traffic</h2><${me} error=${s} />`;if(!o||!o.points||o.points.length<2)return null;let a=o.points[0].at.slice(11,16);return i`<h2>Traffic since ${a} UTC</h2>
    <${Cn} lines=${Yo} points=${o.points} seconds=${o.interval} to=${r} />
    <${x} command="evenkeel loadbalancer series ${e}" path=${n} />`}function Ln({id:e,live:t}){async function n(){let[r,a,l,u,c,d]=await Promise.all([y(`${J}/loadbalancers/${e}`),y(`${J}/listeners?loadbalancer_id=${e}&fields=protocol&fields=protocol_port&fields=name`),V(y(`${m}/loadbalancers/${e}/tree`)),V(y(`${m}/loadbalancers/${e}/agent`)),V(y(`${m}/loadbalancers/${e}/history`)),V(y(`${m}/events?object_id=${e}&newest=true&limit=20`))]);return{root:r.loadbalancer,listeners:a.listeners,tree:l.refused?l:Tn(l.tree),hosting:u.refused?u:u.hosting,history:c,events:d.refused?d:d.events.slice().reverse()}}let{data:o,error:s}=O(n,t.newest,[e]);return i`<p><a href="#/loadbalancers">All load balancers</a></p>
    <h1>${o?o.root.name||C(e):C(e)}</h1>
    <${S} error=${s} loading=${!o} />
    ${o&&i`<${Qo} data=${o} id=${e} />
      <${Nn} id=${e} turn=${o.hosting.applied_revision} />
      <h2>Objects</h2>
      ${o.tree.refused?i`<${S} error=${o.tree.refused} />`:i`<${nt} node=${o.tree} root=${e} />`}
      <${x} command="evenkeel loadbalancer tree ${e}" path="${m}/loadbalancers/${e}/tree" />
      <${nr} id=${e} />
      <${rr} history=${o.history} id=${e} />
      <h2>Events</h2>
      ${o.events.refused?i`<${S} error=${o.events.refused} />`:i`<${Xe} events=${o.events} />`}`}
    <${x} command="evenkeel explain ${e}" path="${m}/loadbalancers/${e}/agent" />`}var Xo=e=>e.map(t=>`${t.protocol} ${t.protocol_port}${t.name&&` (${t.name})`}`).join(", ")||"none",Zo=e=>i`<code>${e}</code> <${he} text=${e} about="the id" />`;function Qo({data:{root:e,hosting:t,listeners:n},id:o}){if(t.refused)return i`<${er} root=${e} /><${S} error=${t.refused} />`;let s=t.revision-t.applied_revision;return i`<${te}
    facts=${[["Id",Zo(o)],["VIP",e.vip_address],["Listeners",Xo(n)],["Environment",t.shard?`${t.shard.environment}, device group ${t.shard.group_number}`:`${e.provider}, not placed yet`],["Project",i`<a href=${L("loadbalancers",{project_id:e.project_id})}>${e.project_id}</a>`],["Flavor",e.flavor_id||""],["Availability zone",e.availability_zone||""],["Provisioning",i`<${w} value=${t.provisioning_status} /> ${t.status_reason}`],["Operating",i`<${w} value=${t.operating_status} /> ${t.operating_reason}`],["Desired revision",t.revision],["On the devices",`${t.applied_revision}${s?` (${s} behind)`:" (the same)"}`],["Written by",t.acting?i`<a href="#/agents/${t.acting.id}">${t.acting.host}</a>, epoch ${t.shard.epoch}`:"no agent"],["Home",t.home?i`<a href="#/agents/${t.home.id}">${t.home.host}</a>`:"none"],["Before it in line",t.ahead]]}
  />
  ${t.remedy&&i`<p class="problem">What helps: <code>${t.remedy}</code> <${he} text=${t.remedy} about="what helps" /></p>`}`}function er({root:e}){return i`<${te}
    facts=${[["VIP",e.vip_address],["Project",e.project_id],["Provisioning",i`<${w} value=${e.provisioning_status} /> ${e.status_reason}`],["Operating",i`<${w} value=${e.operating_status} />`]]}
  />`}var tr=3e4;function nr({id:e}){let[t,n]=A({plan:null,error:null,asking:!1});async function o(){n({plan:null,error:null,asking:!0});try{n({plan:(await Jt(`${m}/loadbalancers/${e}/plan`,void 0,tr)).plan,error:null,asking:!1})}catch(s){n({plan:null,error:s,asking:!1})}}return i`<section aria-labelledby="difference">
    <h2 id="difference">Desired and observed</h2>
    <p><button type="button" onClick=${o} disabled=${t.asking}>Compare with the devices</button>${" "}
      Its agent reads the devices and says what its next pass would change. Nothing is changed.</p>
    <div aria-live="polite">
      ${t.asking&&i`<p>Asking the agent…</p>`}
      <${S} error=${t.error} />
      ${t.plan&&t.plan.devices.map(s=>i`<${or} key=${s.device} device=${s} host=${t.plan.host} />`)}
    </div>
    <${x} command="evenkeel plan ${e}" path="${m}/loadbalancers/${e}/plan" method="POST" />
  </section>`}function or({device:e,host:t}){let n=e.operations.flatMap((s,r)=>(s.attributes.length?s.attributes:[{name:"",present:"",wanted:""}]).map((l,u)=>({id:`${r}.${u}`,step:s,attribute:l}))),o=[["Would",({step:s})=>s.verb],["Object",({step:s})=>i`${s.type} <strong>${s.name}</strong>${s.note&&` (${s.note})`}`],["Attribute",({attribute:s})=>s.name],["Observed",({attribute:s})=>s.present],["Desired",({attribute:s})=>s.wanted]];return i`<h3>${e.device}, read by ${t}</h3>
    ${e.problem&&i`<p class="failure">${e.problem}</p>`}
    ${!n.length&&!e.problem?i`<p class="status good"><span aria-hidden="true">●</span> It holds what is desired: no difference.</p>`:i`<${H} caption="Differences on ${e.device}" columns=${o} rows=${n} empty="" />`}
    ${e.more>0&&i`<p>${e.more} more objects differ.</p>`}`}function rr({history:e,id:t}){let n=[["Revision",o=>o.revision],["Accepted",o=>i`<time>${fe(o.accepted_at)}</time>`],["By",o=>sr(o)],["Request",o=>o.request_id?i`<code>${o.request_id}</code>`:""],["Applied",o=>o.applied_at?i`<time>${fe(o.applied_at)}</time>`:o.problem?i`<${w} value="failed" /> ${o.problem}`:i`<${w} value="waiting" />`],["Seconds",o=>o.seconds===null?"":o.seconds.toFixed(2)],["By agent",o=>o.host?i`<a href="#/agents/${o.agent_id}">${o.host}</a>`:""],["Epoch",o=>o.epoch]];return i`<h2>History</h2>
    <${S} error=${e.refused} />
    <${H} caption="Revisions" columns=${n} rows=${e.history&&e.history.map(o=>({...o,id:o.revision}))} empty="No revision is known: it was made before revisions were kept." />
    <${x} command="evenkeel loadbalancer history ${t}" path="${m}/loadbalancers/${t}/history" />`}function sr(e){return e.request_id?`${e.user||"anybody: no authentication"} ${e.project_id&&`(${C(e.project_id)})`}`:"the controllers (certificate or network)"}function In({reason:e,done:t}){let[n,o]=A("password");function s(r){r.preventDefault();let a=new FormData(r.target);Wt(n==="password"?Gt(a.get("name"),a.get("password")):Kt(a.get("token"))),t()}return i`<main class="login">
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
  </main>`}var ar=`${m}/activity`,Mn=[1,6,24],ir=360,lr=[{title:"Requests",unit:"/s",figures:[["requests","answered"],["failed_requests","failed"]]},{title:"Time to ACTIVE",unit:"s",figures:[["time_to_active_seconds","mean"]],sparse:"no change in this time"},{title:"Traffic",unit:"B/s",figures:[["bytes_in","in"],["bytes_out","out"]]},{title:"Connections",unit:"/s",figures:[["connections","new"]]}];function jn({query:e}){let t=Mn.includes(Number(e.hours))?Number(e.hours):1,n=`${ar}?hours=${t}`,{data:o,error:s,at:r}=O(async()=>({...(await y(n)).activity,hours:t}),0,[n]);return i`<section aria-labelledby="activity">
    <div class="heading">
      <h2 id="activity">Requests, time to ACTIVE and traffic</h2>
      <nav class="spans" aria-label="Span">
        ${Mn.map(a=>i`<a href=${L("",{hours:a===1?"":String(a)})} aria-current=${a===t?"true":null}>${a} h</a>`)}
      </nav>
    </div>
    <${S} error=${s} loading=${!o} />
    ${o&&i`<${cr} data=${o} to=${r} />`}
    <${x} command="evenkeel activity" path=${n} />
  </section>`}function cr({data:e,to:t}){let{requests:n,time_to_active:o,points:s,hours:r}=e,a=e.interval*1e3*Math.max(1,Math.ceil(r*3600/e.interval/ir));return i`<p class="live">
      ${W(n.count)} requests since ${fe(e.since)} UTC, ${W(n.failed)} failed,
      ${n.mean_seconds===null?"":` ${Math.round(n.mean_seconds*1e3)} ms in the mean;`}
      ${o.count?` ${W(o.count)} changes became ACTIVE, half of them within ${W(o.median_seconds)} s, 95 % within ${W(o.p95_seconds)} s.`:" no change became ACTIVE yet."}
      ${" "}These are of the controller that answered (of several workers: the one); traffic is that of all load balancers.
    </p>
    ${s.length?"":i`<p class="empty">${e.reason}</p>`}
    <div class="bigs">${lr.map(l=>i`<${Rn} key=${l.title} ...${l} points=${s} hours=${r} stepMs=${a} to=${t} />`)}</div>`}function Bn({live:e,query:t}){let{data:n,error:o}=O(async()=>(await y(`${m}/status`)).status,e.newest);return i`<h1>Overview</h1>
    <${S} error=${o} loading=${!n} />
    ${n&&i`<${pr} status=${n} /><${dr} problems=${n.problems} /><${_r} status=${n} />`}
    <${x} command="evenkeel status" path="${m}/status" />
    <${jn} query=${t} />
    <h2>Latest events</h2>
    <${Ze} live=${e} most=${8} />
    <${x} command="evenkeel events" path="${m}/events?newest=true" />`}var ur=new Set(["ONLINE","NO_MONITOR"]),Wn=e=>Object.values(e).reduce((t,n)=>t+n,0),Vn=e=>e.load_balancers_operating??{};function pr({status:e}){if(e.problems.length)return null;let t=Vn(e),n=Object.entries(t).filter(([a,l])=>l&&!ur.has(a)),o=Wn(t);if(!n.length)return i`<p class="verdict good"><span aria-hidden="true">●</span> Nothing is wrong.</p>`;let s=L("loadbalancers",{operating_status:n.map(([a])=>a).join(",")}),r=n.reduce((a,[,l])=>a+l,0);return i`<p class="verdict unsure">
    <span aria-hidden="true">◆</span> No fault of the system is known, but <a href=${s}>${r.toLocaleString("en")} of ${o.toLocaleString("en")} ${o===1?"load balancer is":"load balancers are"} not ONLINE</a>:
    without listeners or healthy members, disabled, held, or just made.
  </p>`}var Hn={agent:e=>`#/agents/${e}`,environment:()=>"#/environments",device_group:()=>"#/devices",load_balancer:e=>`#/loadbalancers/${e}`,load_balancers:e=>`#/loadbalancers?${e}`,shards:()=>"#/topology",certificates:e=>`#/certificates?${e}`,controllers:()=>"#/controllers",devices:()=>"#/devices"};function dr({problems:e}){return e.length?i`<section class="problems" aria-label="Problems">
    <h2>${e.length} ${e.length===1?"problem":"problems"}</h2>
    <ul>
      ${e.map(t=>i`<${$r} key=${t.kind+t.text} problem=${t} />`)}
    </ul>
  </section>`:null}function $r({problem:{text:e,remedy:t,objects:n=[],commands:o=[]}}){return i`<li class="problem">
    <h3><span aria-hidden="true">▲</span> ${e}</h3>
    ${n.length>0&&i`<p class="about">See ${n.map((s,r)=>i`${r>0&&", "}<a href=${Hn[s.kind]?Hn[s.kind](s.id):"#/"}>${s.name}</a>`)}</p>`}
    ${o.length?i`<ul class="commands">
          ${o.map(s=>i`<li>${(s.host||s.condition)&&i`<span class="host">${s.host?`on ${s.host}`:s.condition}</span>`} <code>${s.command}</code> <${he} text=${s.command} about=${s.command} /></li>`)}
        </ul>`:i`<p class="about">What helps: ${t}</p>`}
  </li>`}function Fn({title:e,counts:t,filter:n}){let o=Object.entries(t).filter(([,r])=>r).sort(([r],[a])=>Un.indexOf(_e(r))-Un.indexOf(_e(a))),s=Wn(t);return i`<section class="panel" aria-label=${e}>
    <h2>${e}</h2>
    <p class="value"><a href="#/loadbalancers">${s.toLocaleString("en")}</a> <span class="dim">${s===1?"load balancer":"load balancers"}</span></p>
    <div class="bar" aria-hidden="true">${o.map(([r,a])=>i`<span class=${_e(r)} style=${{flexGrow:a}}></span>`)}</div>
    <ul>
      ${o.map(([r,a])=>i`<li><a href=${L("loadbalancers",{[n]:r})}><${w} value=${r} /> <span class="count">${a.toLocaleString("en")}</span></a></li>`)}
    </ul>
  </section>`}var Un=["bad","unsure","other","good"];function _r({status:e}){let{agents:t,shards:n}=e,o=e.message_broker==="connected",s=[["Agents up",`${t.up} of ${t.up+t.down}`,t.down>0&&i`<${w} value="silent" /> or stopped: ${t.down}`,"#/agents"],["Shards",n.total,n.unserved>0&&i`<${w} value="unserved" /> ${n.unserved}`,"#/topology"],["Oldest PENDING",`${e.oldest_pending_seconds} s`,null,L("loadbalancers",{provisioning_status:"PENDING_CREATE,PENDING_UPDATE,PENDING_DELETE"})],["Message broker",o?"connected":"away",!o&&i`<${w} value="out of reach" />`,"#/controllers"]];return i`<div class="panels">
      <${Fn} title="Operating: what clients get" counts=${Vn(e)} filter="operating_status" />
      <${Fn} title="Provisioning: what devices have" counts=${e.load_balancers} filter="provisioning_status" />
    </div>
    <ul class="cards">
      ${s.map(([r,a,l,u])=>i`<li><a href=${u}><span class="title">${r}</span> <span class="value">${a}</span></a> ${l&&i`<p class="more">${l}</p>`}</li>`)}
    </ul>`}var fr=34,M={controller:0,bus:180,agent:310,shard:540,trunk:715,device:740},mr=8e3,X={controller:150,bus:100,agent:170,device:260},hr=M.device+X.device+2,gr=async()=>(await y(`${m}/topology`)).topology;function Gn({live:e}){let{data:t,error:n}=O(gr,e.newest);return i`<h1>Topology</h1>
    <p>A line is a shard, one tenant on a device group: it goes from the agent that may write to the devices, with its epoch. At a takeover the line moves and the epoch grows.</p>
    <ul class="key">
      <li><span class="owner"></span> may write</li>
      <li><span class="reach"></span> connected</li>
      <li><span class="cut"></span> away</li>
    </ul>
    <${S} error=${n} loading=${!t} />
    ${t&&!t.groups.length&&i`<p class="empty">No agent has registered yet.</p>`}
    ${t&&t.groups.map(o=>i`<${wr} key="${o.environment}/${o.group_number}" group=${o} topology=${t} />`)}
    <${x} command="evenkeel shard list" path="${m}/topology" />`}function vr(e){let t=new Map(e.agents.map((o,s)=>[o.id,s])),n=o=>t.get(o.agent)??t.size;return br(e).sort((o,s)=>n(o)-n(s)||o.key.localeCompare(s.key))}function br(e){let{environment:t,group_number:n}=e;if(e.shards.length)return e.shards.map(s=>({key:s.id,agent:s.acting_agent_id,name:s.project_id?C(s.project_id):"common",epoch:s.epoch,title:s.project_id?`project ${s.project_id}`:"the common shard: what tenants of the group share",link:s.project_id&&L("loadbalancers",{environment:t,group_number:String(n),project_id:s.project_id}),text:`${s.project_id?C(s.project_id):"common"} · epoch ${s.epoch}`,served:s.served}));let o=new Set(e.agents.filter(s=>s.alive).map(s=>s.id));return e.lines.map(s=>({key:s.agent_id||"none",agent:s.agent_id,text:`${s.shards} shards · epochs to ${s.newest_epoch}`,served:o.has(s.agent_id)}))}function yr(e,t){let n=U(new Map),[o,s]=A([]),r=t.map(a=>`${a.key} ${a.agent} ${a.epoch}`).join(";");return D(()=>{let a=n.current,u=t.filter(c=>c.name&&c.agent&&a.has(c.key)&&a.get(c.key)!==c.agent).map(c=>`${c.name} moved from ${Ne(e.agents,a.get(c.key))} to ${Ne(e.agents,c.agent)}, epoch ${c.epoch}`);n.current=new Map(t.map(c=>[c.key,c.agent||a.get(c.key)])),u.length&&s(u)},[r]),D(()=>{if(!o.length)return;let a=setTimeout(()=>s([]),mr);return()=>clearTimeout(a)},[o]),o}function wr({group:e,topology:t}){let n=vr(e),o=yr(e,n),{agents:s,devices:r}=e,{controllers:a}=t,u=Math.max(s.length,n.length,r.length,a.length,1)*fr+10,c=(h,b)=>(h+.5)*u/b,d=new Map(s.map((h,b)=>[h.id,c(b,s.length)])),p=u/2,$=t.message_broker==="connected",_=`${e.environment}/${e.group_number}`,k=n.map(h=>`${Ne(s,h.agent)}: ${h.text}`).join("; ");return i`<figure class="topology">
    <figcaption><h2>${_}</h2>${e.halted&&i`<p class="failure">Halted: ${e.halted}. No shard moves.</p>`}<p class="moves" role="status">${o.join("; ")}</p></figcaption>
    <div class="scroll" tabindex="0" role="region" aria-label="Topology of ${_}">
    <svg viewBox="0 0 ${hr} ${u}" role="group" aria-label="Who may write to the devices of ${_}: ${k||"no shards"}">
      ${a.map((h,b)=>{let f=c(b,a.length);return i`<line class=${h.alive?"link":"link cut"} x1=${M.controller+X.controller} y1=${f} x2=${M.bus} y2=${p} />
          <${Ce} x=${M.controller} at=${f} width=${X.controller} state=${h.alive?"up":"silent"} text="controller :${h.url.split(":").pop()}" />`})}
      ${s.map(h=>i`<line class=${h.alive?"link":"link cut"} x1=${M.bus+X.bus} y1=${p} x2=${M.agent} y2=${d.get(h.id)} />
          <a href="#/agents/${h.id}"><${Ce} x=${M.agent} at=${d.get(h.id)} width=${X.agent} state=${h.state} text="${h.host} · ${h.state}" /></a>`)}
      <${Ce} x=${M.bus} at=${p} width=${X.bus} state=${$?"up":"silent"} text="message bus" />
      ${n.map((h,b)=>{let f=c(b,n.length),v=d.get(h.agent),E=M.agent+X.agent;return i`${v!==void 0&&i`<path class="owner ${h.served?"":"cut"}" d="M${E} ${v} C ${E+40} ${v} ${M.shard-40} ${f} ${M.shard} ${f}" />`}
          <${kr} line=${h} at=${f} host=${Ne(s,h.agent)} />
          <path class="reach" d="M${M.shard+155} ${f} H ${M.trunk}" />`})}
      ${n.length>0&&r.length>0&&i`<path class="reach" d="M${M.trunk} ${Math.min(c(0,n.length),c(0,r.length))} V ${Math.max(c(n.length-1,n.length),c(r.length-1,r.length))}" />`}
      ${r.map((h,b)=>i`<path class=${h.reachable?"reach":"reach cut"} d="M${M.trunk} ${c(b,r.length)} H ${M.device}" />`)}
      ${r.map((h,b)=>i`<${Ce} x=${M.device} at=${c(b,r.length)} width=${X.device} state=${h.reachable?"up":"silent"} text="${h.own_name||h.name} · ${h.reachable?h.failover_state||"reached":"out of reach"}" />`)}
    </svg>
    </div>
  </figure>`}function kr({line:e,at:t,host:n}){let o=i`<text class="shard" data-agent=${n} x=${M.shard+6} y=${t+4}><title>${e.title||""}</title>${e.text}${n===lt?` · ${lt}`:""}</text>`;return e.link?i`<a href=${e.link}>${o}</a>`:o}var lt="no agent",xr=6.6;function Ce({x:e,at:t,width:n,state:o,text:s}){let r=Math.floor((n-16)/xr);return i`<g class="box ${o}" transform="translate(${e} ${t-13})">
    <title>${s}</title>
    <rect width=${n} height="26" rx="5" />
    <text x="8" y="17">${s.length>r?`${s.slice(0,r-1)}…`:s}</text>
  </g>`}function Ne(e,t){let n=e.find(o=>o.id===t);return n?n.host:lt}var Le={"":["Overview",Bn],topology:["Topology",Gn],loadbalancers:["Load balancers",xn],agents:["Agents",un],devices:["Devices",fn],controllers:["Controllers",mn],environments:["Environments",hn],certificates:["Certificates",_n],events:["Events",gn]},Sr=[`${m}/events?limit=1&newest=true`,`${m}/activity`,`${J}/loadbalancers?limit=1&fields=id`];function Er(){let[e,t]=A({state:"asking",reason:""});async function n(){let o=null;for(let r of Sr)try{return await y(r),t({state:"in",reason:""})}catch(a){if(o=a,a.status!==403)break}let s=o.status===401||o.status===403;t({state:s?"out":"away",reason:qe()||!s?o.message:""})}return D(()=>{n()},[]),D(()=>{if(e.state!=="away")return;let o=setTimeout(n,2e3);return()=>clearTimeout(o)},[e]),e.state==="asking"?i`<main><p>Loading…</p></main>`:e.state==="out"?i`<${In} reason=${e.reason} done=${n} />`:e.state==="away"?i`<main><p class="failure" role="alert">${e.reason}</p></main>`:i`<${Tr}
    leave=${o=>{Vt(),t({state:"out",reason:o})}}
  />`}function Tr({leave:e}){let t=nn(),{parts:[n,o,s,r,a],query:l}=rn(),u=U(null),[c,d]=Le[n]||Le[""];D(()=>{document.title=`${c} · Even Keel`,u.current&&document.activeElement!==document.body&&u.current.focus()},[n,o,r]),D(()=>{t.error&&t.error.status===401&&e(t.error.message)},[t.error]);function p(){return n==="agents"&&o?i`<${$n} key=${o} id=${o} live=${t} />`:n!=="loadbalancers"||!o?i`<${d} key=${n} live=${t} query=${l} />`:s?i`<${An} key=${r} root=${o} kind=${s} id=${r} parent=${a} live=${t} />`:i`<${Ln} key=${o} id=${o} live=${t} />`}return i`<a class="skip" href="#main" onClick=${$=>($.preventDefault(),u.current.focus())}>Skip to content</a>
    <header>
      <span class="brand">Even Keel</span>
      <nav aria-label="Views">
        ${Object.entries(Le).map(([$,[_]])=>i`<a href="#/${$}" aria-current=${$===(Le[n]?n:"")?"page":null}>${_}</a>`)}
      </nav>
      ${qe()&&i`<button type="button" onClick=${()=>e("")}>Log out</button>`}
    </header>
    <${en} />
    ${t.error&&t.error.status!==401&&t.error.status!==403&&i`<p class="failure banner" role="alert">${t.error.message}: trying again</p>`}
    <main id="main" tabindex="-1" ref=${u}>
      ${p()}
    </main>`}We(i`<${Er} />`,document.getElementById("app"));
