var we,S,ct,Bn,Q,st,ut,pt,dt,Le,Ce,Ne,Wn,ce={},_t=[],Vn=/acit|ex(?:s|g|n|p|$)|rph|grid|ows|mnc|ntw|ine[ch]|zoo|^ord|itera/i,ke=Array.isArray;function z(e,t){for(var n in t)e[n]=t[n];return e}function Me(e){e&&e.parentNode&&e.parentNode.removeChild(e)}function xe(e,t,n){var o,s,r,a={};for(r in t)r=="key"?o=t[r]:r=="ref"?s=t[r]:a[r]=t[r];if(arguments.length>2&&(a.children=arguments.length>3?we.call(arguments,2):n),typeof e=="function"&&e.defaultProps!=null)for(r in e.defaultProps)a[r]===void 0&&(a[r]=e.defaultProps[r]);return be(e,a,o,s,null)}function be(e,t,n,o,s){var r={type:e,props:t,key:n,ref:o,__k:null,__:null,__b:0,__e:null,__c:null,constructor:void 0,__v:s??++ct,__i:-1,__u:0};return s==null&&S.vnode!=null&&S.vnode(r),r}function Ee(e){return e.children}function le(e,t){this.props=e,this.context=t}function ne(e,t){if(t==null)return e.__?ne(e.__,e.__i+1):null;for(var n;t<e.__k.length;t++)if((n=e.__k[t])!=null&&n.__e!=null)return n.__e;return typeof e.type=="function"?ne(e):null}function $t(e){var t,n;if((e=e.__)!=null&&e.__c!=null){for(e.__e=e.__c.base=null,t=0;t<e.__k.length;t++)if((n=e.__k[t])!=null&&n.__e!=null){e.__e=e.__c.base=n.__e;break}return $t(e)}}function at(e){(!e.__d&&(e.__d=!0)&&Q.push(e)&&!ye.__r++||st!=S.debounceRendering)&&((st=S.debounceRendering)||ut)(ye)}function ye(){for(var e,t,n,o,s,r,a,l=1;Q.length;)Q.length>l&&Q.sort(pt),e=Q.shift(),l=Q.length,e.__d&&(n=void 0,o=void 0,s=(o=(t=e).__v).__e,r=[],a=[],t.__P&&((n=z({},o)).__v=o.__v+1,S.vnode&&S.vnode(n),je(t.__P,n,o,t.__n,t.__P.namespaceURI,32&o.__u?[s]:null,r,s??ne(o),!!(32&o.__u),a),n.__v=o.__v,n.__.__k[n.__i]=n,ht(r,n,a),o.__e=o.__=null,n.__e!=s&&$t(n)));ye.__r=0}function ft(e,t,n,o,s,r,a,l,u,p,d){var c,_,$,f,x,y,g,w=o&&o.__k||_t,N=t.length;for(u=Gn(n,t,w,u,N),c=0;c<N;c++)($=n.__k[c])!=null&&(_=$.__i==-1?ce:w[$.__i]||ce,$.__i=c,y=je(e,$,_,s,r,a,l,u,p,d),f=$.__e,$.ref&&_.ref!=$.ref&&(_.ref&&He(_.ref,null,$),d.push($.ref,$.__c||f,$)),x==null&&f!=null&&(x=f),(g=!!(4&$.__u))||_.__k===$.__k?u=mt($,u,e,g):typeof $.type=="function"&&y!==void 0?u=y:f&&(u=f.nextSibling),$.__u&=-7);return n.__e=x,u}function Gn(e,t,n,o,s){var r,a,l,u,p,d=n.length,c=d,_=0;for(e.__k=new Array(s),r=0;r<s;r++)(a=t[r])!=null&&typeof a!="boolean"&&typeof a!="function"?(u=r+_,(a=e.__k[r]=typeof a=="string"||typeof a=="number"||typeof a=="bigint"||a.constructor==String?be(null,a,null,null,null):ke(a)?be(Ee,{children:a},null,null,null):a.constructor==null&&a.__b>0?be(a.type,a.props,a.key,a.ref?a.ref:null,a.__v):a).__=e,a.__b=e.__b+1,l=null,(p=a.__i=Kn(a,n,u,c))!=-1&&(c--,(l=n[p])&&(l.__u|=2)),l==null||l.__v==null?(p==-1&&(s>d?_--:s<d&&_++),typeof a.type!="function"&&(a.__u|=4)):p!=u&&(p==u-1?_--:p==u+1?_++:(p>u?_--:_++,a.__u|=4))):e.__k[r]=null;if(c)for(r=0;r<d;r++)(l=n[r])!=null&&(2&l.__u)==0&&(l.__e==o&&(o=ne(l)),vt(l,l));return o}function mt(e,t,n,o){var s,r;if(typeof e.type=="function"){for(s=e.__k,r=0;s&&r<s.length;r++)s[r]&&(s[r].__=e,t=mt(s[r],t,n,o));return t}e.__e!=t&&(o&&(t&&e.type&&!t.parentNode&&(t=ne(e)),n.insertBefore(e.__e,t||null)),t=e.__e);do t=t&&t.nextSibling;while(t!=null&&t.nodeType==8);return t}function Kn(e,t,n,o){var s,r,a,l=e.key,u=e.type,p=t[n],d=p!=null&&(2&p.__u)==0;if(p===null&&e.key==null||d&&l==p.key&&u==p.type)return n;if(o>(d?1:0)){for(s=n-1,r=n+1;s>=0||r<t.length;)if((p=t[a=s>=0?s--:r++])!=null&&(2&p.__u)==0&&l==p.key&&u==p.type)return a}return-1}function it(e,t,n){t[0]=="-"?e.setProperty(t,n??""):e[t]=n==null?"":typeof n!="number"||Vn.test(t)?n:n+"px"}function ve(e,t,n,o,s){var r,a;e:if(t=="style")if(typeof n=="string")e.style.cssText=n;else{if(typeof o=="string"&&(e.style.cssText=o=""),o)for(t in o)n&&t in n||it(e.style,t,"");if(n)for(t in n)o&&n[t]==o[t]||it(e.style,t,n[t])}else if(t[0]=="o"&&t[1]=="n")r=t!=(t=t.replace(dt,"$1")),a=t.toLowerCase(),t=a in e||t=="onFocusOut"||t=="onFocusIn"?a.slice(2):t.slice(2),e.l||(e.l={}),e.l[t+r]=n,n?o?n.u=o.u:(n.u=Le,e.addEventListener(t,r?Ne:Ce,r)):e.removeEventListener(t,r?Ne:Ce,r);else{if(s=="http://www.w3.org/2000/svg")t=t.replace(/xlink(H|:h)/,"h").replace(/sName$/,"s");else if(t!="width"&&t!="height"&&t!="href"&&t!="list"&&t!="form"&&t!="tabIndex"&&t!="download"&&t!="rowSpan"&&t!="colSpan"&&t!="role"&&t!="popover"&&t in e)try{e[t]=n??"";break e}catch{}typeof n=="function"||(n==null||n===!1&&t[4]!="-"?e.removeAttribute(t):e.setAttribute(t,t=="popover"&&n==1?"":n))}}function lt(e){return function(t){if(this.l){var n=this.l[t.type+e];if(t.t==null)t.t=Le++;else if(t.t<n.u)return;return n(S.event?S.event(t):t)}}}function je(e,t,n,o,s,r,a,l,u,p){var d,c,_,$,f,x,y,g,w,N,I,L,W,ae,J,Z,ie,F=t.type;if(t.constructor!=null)return null;128&n.__u&&(u=!!(32&n.__u),r=[l=t.__e=n.__e]),(d=S.__b)&&d(t);e:if(typeof F=="function")try{if(g=t.props,w="prototype"in F&&F.prototype.render,N=(d=F.contextType)&&o[d.__c],I=d?N?N.props.value:d.__:o,n.__c?y=(c=t.__c=n.__c).__=c.__E:(w?t.__c=c=new F(g,I):(t.__c=c=new le(g,I),c.constructor=F,c.render=qn),N&&N.sub(c),c.props=g,c.state||(c.state={}),c.context=I,c.__n=o,_=c.__d=!0,c.__h=[],c._sb=[]),w&&c.__s==null&&(c.__s=c.state),w&&F.getDerivedStateFromProps!=null&&(c.__s==c.state&&(c.__s=z({},c.__s)),z(c.__s,F.getDerivedStateFromProps(g,c.__s))),$=c.props,f=c.state,c.__v=t,_)w&&F.getDerivedStateFromProps==null&&c.componentWillMount!=null&&c.componentWillMount(),w&&c.componentDidMount!=null&&c.__h.push(c.componentDidMount);else{if(w&&F.getDerivedStateFromProps==null&&g!==$&&c.componentWillReceiveProps!=null&&c.componentWillReceiveProps(g,I),!c.__e&&c.shouldComponentUpdate!=null&&c.shouldComponentUpdate(g,c.__s,I)===!1||t.__v==n.__v){for(t.__v!=n.__v&&(c.props=g,c.state=c.__s,c.__d=!1),t.__e=n.__e,t.__k=n.__k,t.__k.some(function(G){G&&(G.__=t)}),L=0;L<c._sb.length;L++)c.__h.push(c._sb[L]);c._sb=[],c.__h.length&&a.push(c);break e}c.componentWillUpdate!=null&&c.componentWillUpdate(g,c.__s,I),w&&c.componentDidUpdate!=null&&c.__h.push(function(){c.componentDidUpdate($,f,x)})}if(c.context=I,c.props=g,c.__P=e,c.__e=!1,W=S.__r,ae=0,w){for(c.state=c.__s,c.__d=!1,W&&W(t),d=c.render(c.props,c.state,c.context),J=0;J<c._sb.length;J++)c.__h.push(c._sb[J]);c._sb=[]}else do c.__d=!1,W&&W(t),d=c.render(c.props,c.state,c.context),c.state=c.__s;while(c.__d&&++ae<25);c.state=c.__s,c.getChildContext!=null&&(o=z(z({},o),c.getChildContext())),w&&!_&&c.getSnapshotBeforeUpdate!=null&&(x=c.getSnapshotBeforeUpdate($,f)),Z=d,d!=null&&d.type===Ee&&d.key==null&&(Z=gt(d.props.children)),l=ft(e,ke(Z)?Z:[Z],t,n,o,s,r,a,l,u,p),c.base=t.__e,t.__u&=-161,c.__h.length&&a.push(c),y&&(c.__E=c.__=null)}catch(G){if(t.__v=null,u||r!=null)if(G.then){for(t.__u|=u?160:128;l&&l.nodeType==8&&l.nextSibling;)l=l.nextSibling;r[r.indexOf(l)]=null,t.__e=l}else{for(ie=r.length;ie--;)Me(r[ie]);Ie(t)}else t.__e=n.__e,t.__k=n.__k,G.then||Ie(t);S.__e(G,t,n)}else r==null&&t.__v==n.__v?(t.__k=n.__k,t.__e=n.__e):l=t.__e=zn(n.__e,t,n,o,s,r,a,u,p);return(d=S.diffed)&&d(t),128&t.__u?void 0:l}function Ie(e){e&&e.__c&&(e.__c.__e=!0),e&&e.__k&&e.__k.forEach(Ie)}function ht(e,t,n){for(var o=0;o<n.length;o++)He(n[o],n[++o],n[++o]);S.__c&&S.__c(t,e),e.some(function(s){try{e=s.__h,s.__h=[],e.some(function(r){r.call(s)})}catch(r){S.__e(r,s.__v)}})}function gt(e){return typeof e!="object"||e==null||e.__b&&e.__b>0?e:ke(e)?e.map(gt):z({},e)}function zn(e,t,n,o,s,r,a,l,u){var p,d,c,_,$,f,x,y=n.props,g=t.props,w=t.type;if(w=="svg"?s="http://www.w3.org/2000/svg":w=="math"?s="http://www.w3.org/1998/Math/MathML":s||(s="http://www.w3.org/1999/xhtml"),r!=null){for(p=0;p<r.length;p++)if(($=r[p])&&"setAttribute"in $==!!w&&(w?$.localName==w:$.nodeType==3)){e=$,r[p]=null;break}}if(e==null){if(w==null)return document.createTextNode(g);e=document.createElementNS(s,w,g.is&&g),l&&(S.__m&&S.__m(t,r),l=!1),r=null}if(w==null)y===g||l&&e.data==g||(e.data=g);else{if(r=r&&we.call(e.childNodes),y=n.props||ce,!l&&r!=null)for(y={},p=0;p<e.attributes.length;p++)y[($=e.attributes[p]).name]=$.value;for(p in y)if($=y[p],p!="children"){if(p=="dangerouslySetInnerHTML")c=$;else if(!(p in g)){if(p=="value"&&"defaultValue"in g||p=="checked"&&"defaultChecked"in g)continue;ve(e,p,null,$,s)}}for(p in g)$=g[p],p=="children"?_=$:p=="dangerouslySetInnerHTML"?d=$:p=="value"?f=$:p=="checked"?x=$:l&&typeof $!="function"||y[p]===$||ve(e,p,$,y[p],s);if(d)l||c&&(d.__html==c.__html||d.__html==e.innerHTML)||(e.innerHTML=d.__html),t.__k=[];else if(c&&(e.innerHTML=""),ft(t.type=="template"?e.content:e,ke(_)?_:[_],t,n,o,w=="foreignObject"?"http://www.w3.org/1999/xhtml":s,r,a,r?r[0]:n.__k&&ne(n,0),l,u),r!=null)for(p=r.length;p--;)Me(r[p]);l||(p="value",w=="progress"&&f==null?e.removeAttribute("value"):f!=null&&(f!==e[p]||w=="progress"&&!f||w=="option"&&f!=y[p])&&ve(e,p,f,y[p],s),p="checked",x!=null&&x!=e[p]&&ve(e,p,x,y[p],s))}return e}function He(e,t,n){try{if(typeof e=="function"){var o=typeof e.__u=="function";o&&e.__u(),o&&t==null||(e.__u=e(t))}else e.current=t}catch(s){S.__e(s,n)}}function vt(e,t,n){var o,s;if(S.unmount&&S.unmount(e),(o=e.ref)&&(o.current&&o.current!=e.__e||He(o,null,t)),(o=e.__c)!=null){if(o.componentWillUnmount)try{o.componentWillUnmount()}catch(r){S.__e(r,t)}o.base=o.__P=null}if(o=e.__k)for(s=0;s<o.length;s++)o[s]&&vt(o[s],t,n||typeof e.type!="function");n||Me(e.__e),e.__c=e.__=e.__e=void 0}function qn(e,t,n){return this.constructor(e,n)}function Fe(e,t,n){var o,s,r,a;t==document&&(t=document.documentElement),S.__&&S.__(e,t),s=(o=typeof n=="function")?null:n&&n.__k||t.__k,r=[],a=[],je(t,e=(!o&&n||t).__k=xe(Ee,null,[e]),s||ce,ce,t.namespaceURI,!o&&n?[n]:s?null:t.firstChild?we.call(t.childNodes):null,r,!o&&n?n:s?s.__e:t.firstChild,o,a),ht(r,e,a)}we=_t.slice,S={__e:function(e,t,n,o){for(var s,r,a;t=t.__;)if((s=t.__c)&&!s.__)try{if((r=s.constructor)&&r.getDerivedStateFromError!=null&&(s.setState(r.getDerivedStateFromError(e)),a=s.__d),s.componentDidCatch!=null&&(s.componentDidCatch(e,o||{}),a=s.__d),a)return s.__E=s}catch(l){e=l}throw e}},ct=0,Bn=function(e){return e!=null&&e.constructor==null},le.prototype.setState=function(e,t){var n;n=this.__s!=null&&this.__s!=this.state?this.__s:this.__s=z({},this.state),typeof e=="function"&&(e=e(z({},n),this.props)),e&&z(n,e),e!=null&&this.__v&&(t&&this._sb.push(t),at(this))},le.prototype.forceUpdate=function(e){this.__v&&(this.__e=!0,e&&this.__h.push(e),at(this))},le.prototype.render=Ee,Q=[],ut=typeof Promise=="function"?Promise.prototype.then.bind(Promise.resolve()):setTimeout,pt=function(e,t){return e.__v.__b-t.__v.__b},ye.__r=0,dt=/(PointerCapture)$|Capture$/i,Le=0,Ce=lt(!1),Ne=lt(!0),Wn=0;var yt=function(e,t,n,o){var s;t[0]=0;for(var r=1;r<t.length;r++){var a=t[r++],l=t[r]?(t[0]|=a?1:2,n[t[r++]]):t[++r];a===3?o[0]=l:a===4?o[1]=Object.assign(o[1]||{},l):a===5?(o[1]=o[1]||{})[t[++r]]=l:a===6?o[1][t[++r]]+=l+"":a?(s=e.apply(l,yt(e,l,n,["",null])),o.push(s),l[0]?t[0]|=2:(t[r-2]=0,t[r]=s)):o.push(l)}return o},bt=new Map;function wt(e){var t=bt.get(this);return t||(t=new Map,bt.set(this,t)),(t=yt(this,t.get(e)||(t.set(e,t=(function(n){for(var o,s,r=1,a="",l="",u=[0],p=function(_){r===1&&(_||(a=a.replace(/^\s*\n\s*|\s*\n\s*$/g,"")))?u.push(0,_,a):r===3&&(_||a)?(u.push(3,_,a),r=2):r===2&&a==="..."&&_?u.push(4,_,0):r===2&&a&&!_?u.push(5,0,!0,a):r>=5&&((a||!_&&r===5)&&(u.push(r,0,a,s),r=6),_&&(u.push(r,_,0,s),r=6)),a=""},d=0;d<n.length;d++){d&&(r===1&&p(),p(d));for(var c=0;c<n[d].length;c++)o=n[d][c],r===1?o==="<"?(p(),u=[u],r=3):a+=o:r===4?a==="--"&&o===">"?(r=1,a=""):a=o+a[0]:l?o===l?l="":a+=o:o==='"'||o==="'"?l=o:o===">"?(p(),r=1):r&&(o==="="?(r=5,s=a,a=""):o==="/"&&(r<5||n[d][c+1]===">")?(p(),r===3&&(u=u[0]),r=u,(u=u[0]).push(2,0,r),r=0):o===" "||o==="	"||o===`
`||o==="\r"?(p(),r=2):a+=o),r===3&&a==="!--"&&(r=4,u=u[0])}return p(),u})(e)),t),arguments,[])).length>1?t:t[0]}var i=wt.bind(xe);var ue,R,Ue,kt,pe=0,Dt=[],D=S,xt=D.__b,Et=D.__r,St=D.diffed,Tt=D.__c,At=D.unmount,Ot=D.__;function We(e,t){D.__h&&D.__h(R,e,pe||t),pe=0;var n=R.__H||(R.__H={__:[],__h:[]});return e>=n.__.length&&n.__.push({}),n.__[e]}function T(e){return pe=1,Jn(It,e)}function Jn(e,t,n){var o=We(ue++,2);if(o.t=e,!o.__c&&(o.__=[n?n(t):It(void 0,t),function(l){var u=o.__N?o.__N[0]:o.__[0],p=o.t(u,l);u!==p&&(o.__N=[p,o.__[1]],o.__c.setState({}))}],o.__c=R,!R.__f)){var s=function(l,u,p){if(!o.__c.__H)return!0;var d=o.__c.__H.__.filter(function(_){return!!_.__c});if(d.every(function(_){return!_.__N}))return!r||r.call(this,l,u,p);var c=o.__c.props!==l;return d.forEach(function(_){if(_.__N){var $=_.__[0];_.__=_.__N,_.__N=void 0,$!==_.__[0]&&(c=!0)}}),r&&r.call(this,l,u,p)||c};R.__f=!0;var r=R.shouldComponentUpdate,a=R.componentWillUpdate;R.componentWillUpdate=function(l,u,p){if(this.__e){var d=r;r=void 0,s(l,u,p),r=d}a&&a.call(this,l,u,p)},R.shouldComponentUpdate=s}return o.__N||o.__}function P(e,t){var n=We(ue++,3);!D.__s&&Nt(n.__H,t)&&(n.__=e,n.u=t,R.__H.__h.push(n))}function U(e){return pe=5,Pt(function(){return{current:e}},[])}function Pt(e,t){var n=We(ue++,7);return Nt(n.__H,t)&&(n.__=e(),n.__H=t,n.__h=e),n.__}function Ct(e,t){return pe=8,Pt(function(){return e},t)}function Xn(){for(var e;e=Dt.shift();)if(e.__P&&e.__H)try{e.__H.__h.forEach(Se),e.__H.__h.forEach(Be),e.__H.__h=[]}catch(t){e.__H.__h=[],D.__e(t,e.__v)}}D.__b=function(e){R=null,xt&&xt(e)},D.__=function(e,t){e&&t.__k&&t.__k.__m&&(e.__m=t.__k.__m),Ot&&Ot(e,t)},D.__r=function(e){Et&&Et(e),ue=0;var t=(R=e.__c).__H;t&&(Ue===R?(t.__h=[],R.__h=[],t.__.forEach(function(n){n.__N&&(n.__=n.__N),n.u=n.__N=void 0})):(t.__h.forEach(Se),t.__h.forEach(Be),t.__h=[],ue=0)),Ue=R},D.diffed=function(e){St&&St(e);var t=e.__c;t&&t.__H&&(t.__H.__h.length&&(Dt.push(t)!==1&&kt===D.requestAnimationFrame||((kt=D.requestAnimationFrame)||Yn)(Xn)),t.__H.__.forEach(function(n){n.u&&(n.__H=n.u),n.u=void 0})),Ue=R=null},D.__c=function(e,t){t.some(function(n){try{n.__h.forEach(Se),n.__h=n.__h.filter(function(o){return!o.__||Be(o)})}catch(o){t.some(function(s){s.__h&&(s.__h=[])}),t=[],D.__e(o,n.__v)}}),Tt&&Tt(e,t)},D.unmount=function(e){At&&At(e);var t,n=e.__c;n&&n.__H&&(n.__H.__.forEach(function(o){try{Se(o)}catch(s){t=s}}),n.__H=void 0,t&&D.__e(t,n.__v))};var Rt=typeof requestAnimationFrame=="function";function Yn(e){var t,n=function(){clearTimeout(o),Rt&&cancelAnimationFrame(t),setTimeout(e)},o=setTimeout(n,35);Rt&&(t=requestAnimationFrame(n))}function Se(e){var t=R,n=e.__c;typeof n=="function"&&(e.__c=void 0,n()),R=t}function Be(e){var t=R;e.__c=e.__(),R=t}function Nt(e,t){return!e||e.length!==t.length||t.some(function(n,o){return n!==e[o]})}function It(e,t){return typeof t=="function"?t(e):t}var h="../evenkeel/v1",Ve="evenkeel-authorization",oe=class extends Error{constructor(t,n,o=[]){super(n),this.status=t,this.roles=o}},Lt=0,de=()=>Date.now()+Lt,_e=JSON.parse(sessionStorage.getItem(Ve)||"{}");function Mt(e){_e=e,sessionStorage.setItem(Ve,JSON.stringify(e))}function jt(){_e={},sessionStorage.removeItem(Ve)}function Ge(){return Object.keys(_e).length>0}function Ht(e,t){let n=new TextEncoder().encode(`${e}:${t}`);return{Authorization:`Basic ${btoa(String.fromCharCode(...n))}`}}function Ft(e){return{"X-Auth-Token":e}}async function Ke(e,t,n,o=15e3){let s={Accept:"application/json",..._e};n!==void 0&&(s["Content-Type"]="application/json");let r;try{r=await fetch(t,{method:e,headers:s,body:n===void 0?void 0:JSON.stringify(n),credentials:"omit",cache:"no-store",signal:AbortSignal.timeout(o)})}catch(u){throw new oe(0,`no answer from this controller: ${u.message}`)}Zn(r);let a=await r.text(),l=a?Gt(a):null;if(!r.ok)throw Bt(r,l);return l}function Zn(e){let t=Date.parse(e.headers.get("Date")||"");t&&Math.abs(t+500-de())>1e3&&(Lt=t+500-Date.now())}async function Ut(e,t,{told:n,at:o,signal:s,silentMs:r}){let a=new AbortController,l=()=>a.abort();s.addEventListener("abort",l);let u=setTimeout(l,r);try{let p=await fetch(e,{headers:{Accept:"text/event-stream","Last-Event-ID":String(t),..._e},credentials:"omit",cache:"no-store",signal:a.signal});if(!p.ok)throw Bt(p,Gt(await p.text()));let d=p.body.pipeThrough(new TextDecoderStream).getReader(),c="";for(;;){let{done:_,value:$}=await d.read();if(_)return;clearTimeout(u),u=setTimeout(l,r);let f=(c+$).split(`

`);c=f.pop();let x=[];for(let y of f)for(let g of y.split(`
`))g.startsWith("id: ")&&o(Number(g.slice(4))),g.startsWith("data: ")&&x.push(JSON.parse(g.slice(6)));n(x)}}catch(p){throw p instanceof oe?p:new oe(0,`no answer from this controller: ${p.message}`)}finally{clearTimeout(u),s.removeEventListener("abort",l),a.abort()}}function Bt(e,t){let n=(e.headers.get("X-Needs-Role")||"").split(", ").filter(Boolean);return new oe(e.status,Qn(t)||`HTTP ${e.status}`,n)}var V=e=>e.catch(t=>{if(t.status!==403)throw t;return{refused:t}}),Wt=(e,t,n)=>Ke("POST",e,t,n),v=e=>Ke("GET",e),Vt=(e,t)=>Ke("PUT",e,t);function Gt(e){try{return JSON.parse(e)}catch{return null}}function Qn(e){return e&&(e.faultstring||e.reason||e.error&&e.error.message||e.detail)}var zt=new URLSearchParams(location.search).get("demo"),eo="../demo/controls",to=2e3;async function Kt(e){let t=await fetch(eo,{method:e?"POST":"GET",headers:{"X-Demo-Token":zt,"Content-Type":"application/json"},body:e&&JSON.stringify(e),cache:"no-store"}),n=await t.json();if(!t.ok)throw new Error(n.reason||`HTTP ${t.status}`);return n}function qt(){let[e,t]=T(null),[n,o]=T(""),[s,r]=T("");if(P(()=>{if(!zt)return;let u=()=>Kt().then(t,()=>t(null));u();let p=setInterval(()=>document.hidden||u(),to);return()=>clearInterval(p)},[]),!e)return null;let a=n||e.agents[0].host,l=(u,p)=>i`<button
      type="button"
      disabled=${!e.offered}
      onClick=${()=>Kt({action:p,host:a}).then(d=>(t(d),r("")),d=>r(d.message))}
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
  </section>`}var no=1e4,oo=2e3,ro=200,so=100,ao=4e4,Jt=[1e3,1e3,2e3,5e3];function Xt(){let[e,t]=T({events:[],error:null,newest:0,connected:!1});return P(()=>{let n=new AbortController,o=null,s=()=>document.hidden&&o&&o.abort();document.addEventListener("visibilitychange",s),n.signal.addEventListener("abort",()=>{document.removeEventListener("visibilitychange",s),o&&o.abort()});let r=null,a=0,l=p=>{a=0,t(d=>lo(d,p))};async function u(){for(;!n.signal.aborted;){if(await io(),n.signal.aborted)return;o=new AbortController;try{if(r===null){let p=(await v(`${h}/events?limit=${so}&newest=true`)).events;r=p.length?p[0].id-1:0,l(p)}await Ut(`${h}/events`,r,{told:l,at:p=>r=p,signal:o.signal,silentMs:ao})}catch(p){if(n.signal.aborted)return;if(o.signal.aborted)continue;if(t(d=>({...d,error:p,connected:!1})),p.status===401||p.status===403)return}await new Promise(p=>setTimeout(p,Jt[Math.min(a++,Jt.length-1)]))}}return u(),()=>n.abort()},[]),e}function io(){return document.hidden?new Promise(e=>document.addEventListener("visibilitychange",e,{once:!0})):Promise.resolve()}function lo(e,t){let n=new Set(e.events.map(r=>r.id)),o=t.filter(r=>!n.has(r.id));return!o.length&&e.connected&&!e.error?e:{events:[...o,...e.events].sort((r,a)=>a.id-r.id).slice(0,ro),error:null,connected:!0,newest:e.newest+o.length}}function A(e,t,n=[]){let[o,s]=T({data:null,error:null,at:0}),r=U(0),a=U(0),l=Ct(async()=>{let u=++r.current;a.current=Date.now();try{let p=await e();u===r.current&&s({data:p,error:null,at:de()})}catch(p){u===r.current&&s(d=>({...d,error:p}))}},n);return P(()=>(a.current=0,()=>{r.current+=1}),[l]),P(()=>{let u=setTimeout(l,Math.max(0,a.current+oo-Date.now())),p=setInterval(()=>document.hidden||l(),no);return()=>{clearTimeout(u),clearInterval(p)}},[l,t]),{...o,again:l}}var ze="evenkeel-moved";function Yt(){let[e,t=""]=location.hash.replace(/^#\/?/,"").split("?");return{parts:e.split("/").map(co),query:Object.fromEntries(new URLSearchParams(t))}}function co(e){try{return decodeURIComponent(e)}catch{return e}}function Zt(){let[e,t]=T(Yt);return P(()=>{let n=()=>t(Yt());for(let o of["hashchange",ze])addEventListener(o,n);return()=>{for(let o of["hashchange",ze])removeEventListener(o,n)}},[]),e}function H(e,t={}){let n=new URLSearchParams(Object.entries(t).filter(([,o])=>o));return`#/${e}${n.size?`?${n}`:""}`}function Qt(e,{instead:t=!1}={}){history[t?"replaceState":"pushState"](null,"",e),dispatchEvent(new Event(ze))}var uo=new Set(["ACTIVE","ONLINE","up","connected","reached","served","closed"]),po=new Set(["DEGRADED","DRAINING"]),_o=new Set(["ERROR","OFFLINE","silent","forced_down","unserved","halted","out of reach","failed"]),$e=e=>uo.has(e)?"good":_o.has(e)?"bad":po.has(e)?"unsure":"other";function b({value:e}){let t=$e(e),n={good:"●",bad:"▲",unsure:"◆",other:"◌"}[t];return i`<span class="status ${t}"><span aria-hidden="true">${n}</span> ${e}</span>`}var C=e=>e&&/^([0-9a-f]{8}-|[0-9a-f]{32}$)/.test(e)?e.slice(0,8):e;function q(e){if(!e)return"";let t=Math.max(0,(de()-Date.parse(e.endsWith("Z")?e:`${e}Z`))/1e3);return t<120?`${Math.round(t)} s`:t<7200?`${Math.round(t/60)} min`:t<172800?`${Math.round(t/3600)} h`:`${Math.round(t/86400)} d`}var en=e=>`${Math.max(0,e/1e3).toFixed(1)} s`,fe=e=>e.replace("T"," ").slice(0,19);function B(e){for(let[t,n]of[["G",1e9],["M",1e6],["k",1e3]])if(e>=n)return`${(e/n).toPrecision(3)} ${t}`;return e>0&&e<.001?"< 0.001":e>=10||Number.isInteger(e)?String(Math.round(e)):e.toPrecision(2)}function ee({facts:e}){return i`<dl class="facts">
    ${e.filter(([,t])=>t!=="").map(([t,n])=>i`<div><dt>${t}</dt><dd>${n}</dd></div>`)}
  </dl>`}function k({command:e,path:t,method:n="GET"}){return i`<p class="also">
    The same: <code>${e}</code>${t&&i` · <code>${n} ${t.replace(/^\.\./,"")}</code>`}
  </p>`}function E({error:e,loading:t}){return e&&e.status===403?i`<${me} error=${e} />`:e?i`<p class="failure" role="alert">${e.message}</p>`:t&&i`<p>Loading…</p>`}function me({error:e}){return i`<p class="empty">${e.roles.length?`Needs the role ${e.roles.join(" or ")}.`:e.message}</p>`}function j({caption:e,columns:t,rows:n,empty:o,order:s}){return n?n.length?i`<div class="scroll" tabindex="0" role="region" aria-label=${e}>
    <table>
      <caption>
        ${e}
      </caption>
      <thead>
        <tr>
          ${t.map(([r,,a])=>i`<${$o} title=${r} sortKey=${a} order=${s} />`)}
        </tr>
      </thead>
      <tbody>
        ${n.map(r=>i`<tr key=${r.id||r.name}>${t.map(([a,l])=>i`<td data-title=${a}>${l(r)}</td>`)}</tr>`)}
      </tbody>
    </table>
  </div>`:i`<p class="empty">${o}</p>`:null}function $o({title:e,sortKey:t,order:n}){if(!t||!n)return i`<th scope="col">${e}</th>`;let o=n.key===t?n.descending?"descending":"ascending":null,s={ascending:"▲",descending:"▼"}[o]||"";return i`<th scope="col" aria-sort=${o}>
    <a class="order" href=${n.link(t,o==="ascending")}>${e} <span aria-hidden="true">${s}</span></a>
  </th>`}function tn({text:e,about:t}){let[n,o]=T(!1);async function s(){await fo(e),o(!0),setTimeout(()=>o(!1),2e3)}return i`<button type="button" class="copy" onClick=${s} aria-label=${`Copy ${t}`}><span role="status">${n?"Copied":"Copy"}</span></button>`}async function fo(e){if(navigator.clipboard)return navigator.clipboard.writeText(e);let t=document.createElement("textarea");t.value=e,document.body.append(t),t.select(),document.execCommand("copy"),t.remove()}function he({label:e,about:t,question:n,path:o,body:s,command:r,done:a,send:l=Vt}){let[u,p]=T(!1),[d,c]=T(null),_=U(null);P(()=>{u&&_.current.showModal()},[u]);async function $(){try{await l(o,s),c(null),p(!1),a()}catch(f){c(f)}}return i`<button type="button" onClick=${()=>p(!0)} aria-label=${t?`${e} ${t}`:null}>${e}</button>
    ${u&&i`<dialog ref=${_} onClose=${()=>p(!1)} aria-label=${t?`${e} ${t}`:e}>
      <p>${n}</p>
      ${r&&i`<p class="also">The same: <code>${r}</code></p>`}
      <${E} error=${d} />
      <button type="button" class="confirm" onClick=${$}>${e}</button>
      <button type="button" onClick=${()=>p(!1)}>Cancel</button>
    </dialog>`}`}var Te=50,nn=e=>`${e.environment}/${e.group_number}`,on=e=>`${e.devices.filter(t=>t.reachable).length} of ${e.devices.length}`;function rn({live:e}){let{data:t,error:n,at:o,again:s}=A(async()=>(await v(`${h}/agents`)).agents,e.newest);return i`<h1>Agents</h1>
    <${E} error=${n} loading=${!t} />
    <${j} caption="Agents" columns=${[["Host",a=>i`<a href="#/agents/${a.id}">${a.host}</a>`],["Device group",nn],["State",a=>i`<${b} value=${a.state} />`],["Lease",a=>sn(a,o)],["Last report",a=>q(a.reported_at)],["Shards",a=>a.acting_shards],["At home",a=>a.home_shards],["Queue",a=>a.queue_depth],["Devices in reach",on],["Why not",a=>a.waiting_reason||a.away_reason],["Action",a=>i`<${an} agent=${a} done=${s} />`]]} rows=${t} empty="No agent has registered yet. evenkeel-agent on a host that reaches the devices does." />
    <${k} command="evenkeel agent list" path="${h}/agents" />`}function sn(e,t){return e.alive&&e.session_expires_at?`${en(Date.parse(`${e.session_expires_at}Z`)-t)} left`:e.silent_since?`silent for ${q(e.silent_since)}`:"none"}function an({agent:e,done:t}){let n=e.admin_state_up;return i`<${he}
    label=${n?"Drain":"Undrain"}
    about=${e.host}
    question=${n?`Drain ${e.host}? Its ${e.acting_shards} shards are handed over to other agents, and it gets no new ones.`:`Put ${e.host} back into service? Its shards come home.`}
    path="${h}/agents/${e.id}/${n?"drain":"undrain"}"
    command="evenkeel agent ${n?"drain":"undrain"} ${e.host}"
    done=${t}
  />`}function ln({id:e,live:t}){async function n(){let[u,p,d]=await Promise.all([v(`${h}/agents/${e}`),v(`${h}/shards?agent_id=${e}`),V(v(`${h}/agents/${e}/loadbalancers?limit=${Te}`))]);return{agent:u.agent,shards:p.shards.filter(c=>c.project_id),balancers:d}}let{data:o,error:s,at:r,again:a}=A(n,t.newest,[e]),l=o&&o.agent;return i`<p><a href="#/agents">All agents</a></p>
    <h1>${l?l.host:C(e)}</h1>
    <${E} error=${s} loading=${!o} />
    ${l&&i`<${ee}
        facts=${[["State",i`<${b} value=${l.state} />`],["Device group",nn(l)],["Lease",sn(l,r)],["Last report",q(l.reported_at)],["Shards that it acts for",l.acting_shards],["Shards whose home it is",l.home_shards],["Queue",l.queue_depth],["Devices in reach",on(l)],["Why shards wait",l.waiting_reason||l.away_reason],["Device driver",l.device_driver]]}
      />
      <p class="actions"><${an} agent=${l} done=${a} />
      ${l.away_shards>0&&i`<${he}
        label="Fail back"
        about=${l.host}
        question="Hand the ${l.away_shards} shards whose home is ${l.host} back to it?"
        path="${h}/agents/${e}/failback"
        command="evenkeel agent failback ${l.host}"
        done=${a}
      />`}</p>
      <h2>Devices as it sees them</h2>
      <${j}
        caption="Devices"
        columns=${[["Device",u=>u.own_name||u.name],["Address",u=>u.name],["Reached",u=>i`<${b} value=${u.reachable?"reached":"out of reach"} />`],["Failover",u=>u.failover_state],["Config sync",u=>u.sync_state],["Version",u=>u.version],["Problem",u=>u.problem]]}
        rows=${l.devices}
        empty="It has not reported a device yet."
      />
      <h2>Shards</h2>
      <${j}
        caption="Shards"
        columns=${[["Tenant",u=>i`<span title=${u.project_id}>${C(u.project_id)}</span>`],["Epoch",u=>u.epoch],["It is",u=>mo(u,e)],["Served",u=>i`<${b} value=${u.served?"served":"unserved"} />`]]}
        rows=${o.shards.slice(0,Te)}
        empty="It has no tenant."
      />
      ${o.shards.length>Te&&i`<p>${o.shards.length-Te} more: <code>evenkeel shard list --agent ${l.host}</code></p>`}
      <h2>Load balancers</h2>
      <${E} error=${o.balancers.refused} />
      <${j}
        caption="Load balancers"
        columns=${[["Name",u=>i`<a href="#/loadbalancers/${u.id}">${u.name||C(u.id)}</a>`],["VIP",u=>u.vip_address],["Provisioning",u=>i`<${b} value=${u.provisioning_status} />`],["Operating",u=>i`<${b} value=${u.operating_status} />`]]}
        rows=${o.balancers.loadbalancers}
        empty="None."
      />`}
    <${k} command="evenkeel agent show ${l?l.host:e}" path="${h}/agents/${e}" />`}function mo(e,t){let n=[];return e.acting_agent_id===t&&n.push("acting agent"),e.home_agent_id===t&&n.push("home"),n.join(", ")}var ho=async()=>(await v(`${h}/topology`)).topology;function cn({live:e}){let{data:t,error:n}=A(ho,e.newest),o=t&&t.groups.flatMap(r=>r.devices.map(a=>({...a,id:`${r.environment}/${r.group_number}/${a.name}`,group:r})));return i`<h1>Devices</h1>
    <p>What agents say of the devices of their group: of several the one that reaches it.</p>
    <${E} error=${n} loading=${!t} />
    <${j} caption="Devices" columns=${[["Device",r=>r.own_name||r.name],["Address",r=>r.name],["Device group",r=>`${r.group.environment}/${r.group.group_number}`],["Type",r=>r.group.device_driver],["State",r=>i`<${b} value=${r.reachable?"reached":"out of reach"} />`],["Failover",r=>r.failover_state],["Config sync",r=>r.sync_state],["Version",r=>r.version],["Reached by",r=>r.reached_by.join(", ")],["Not reached by",r=>r.missed_by.join(", ")],["Problem",r=>r.problem]]} rows=${o} empty="No agent has reported a device yet." />
    <${k} command="evenkeel device list" path="${h}/topology" />`}function un({live:e}){let{data:t,error:n}=A(async()=>(await v(`${h}/controllers`)).controllers,e.newest);return i`<h1>Controllers</h1>
    <p>They are all alike and keep nothing: any of them may end. A silent one is listed for ten minutes.</p>
    <${E} error=${n} loading=${!t} />
    <${j} caption="Controllers" columns=${[["URL",s=>s.url],["Host",s=>s.host],["State",s=>i`<${b} value=${s.alive?"up":"silent"} />`],["Message broker",s=>i`<${b} value=${s.message_broker==="connected"?"connected":"out of reach"} /> ${s.message_broker==="connected"?"":s.message_broker}`],["Version",s=>s.version],["Up for",s=>s.alive?q(s.started_at):""],["Seen",s=>`${q(s.seen_at)} ago`]]} rows=${t} empty="None has been seen yet." />
    <${k} command="evenkeel controller list" path="${h}/controllers" />`}function pn({live:e}){let{data:t,error:n,again:o}=A(async()=>(await v(`${h}/environments`)).environments,e.newest);return i`<h1>Environments</h1>
    <${E} error=${n} loading=${!t} />
    <${j} caption="Environments" columns=${[["Name",r=>r.name],["Device driver",r=>r.device_driver],["Failback",r=>r.failback],["Circuit breaker",r=>r.halted?i`<${b} value="halted" /> ${r.halted}`:i`<${b} value="closed" />`],["Opens at",r=>`${r.breaker_agents} agents and ${Math.round(r.breaker_share*100)} % silent`],["Action",r=>r.halted&&i`<${go} row=${r} done=${o} />`]]} rows=${t} empty="There is no environment yet." />
    <${k} command="evenkeel environment list" path="${h}/environments" />`}function go({row:e,done:t}){return i`<${he}
    label="Resume"
    about=${e.name}
    command="evenkeel environment resume ${e.name}"
    question="Are the silent agents of ${e.name} lost for good? Their shards move to others."
    path="${h}/environments/${e.name}/resume"
    done=${t}
  />`}function vo({request_id:e,client_address:t}){return e?`from ${t}, ${e}`:null}function qe({events:e}){return e.length?i`<ol class="events">
    ${e.map(t=>i`<li key=${t.id}>
        <time>${t.at.replace("T"," ").slice(0,19)}</time>${" "}<span class="kind">${t.kind}</span>${" "}
        <span title=${vo(t)}>${t.load_balancer_id?i`<a href="#/loadbalancers/${t.load_balancer_id}">${t.text}</a>`:t.text}</span>
      </li>`)}
  </ol>`:i`<p>No events yet.</p>`}function Je({live:e,most:t}){return e.error&&e.error.status===403?i`<${me} error=${e.error} />`:i`<${qe} events=${t?e.events.slice(0,t):e.events} />`}function dn({live:e}){return i`<h1>Events</h1>
    <p>New ones appear at the top, times are UTC.</p>
    <div aria-live="polite"><${Je} live=${e} /></div>
    <${k} command="evenkeel events --follow" path="${h}/events?newest=true" />`}var X="../v2/lbaas",mn=50,bo=250,yo=["ERROR","PENDING_CREATE","PENDING_UPDATE","PENDING_DELETE","ACTIVE","DELETED"],wo=["ONLINE","OFFLINE","DEGRADED","ERROR","DRAINING","NO_MONITOR"],ko=/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,xo=/^[0-9.]{7,15}$|:/,hn=["q","provisioning_status","operating_status","environment","group_number","project_id","held","sort","marker","page_reverse"];function _n(e){let t=hn.filter(n=>e[n]).map(n=>[n,e[n]]);return`${h}/loadbalancers?${new URLSearchParams([...t,["limit",mn]])}`}function $n({q:e,environment:t,group_number:n,held:o,...s}){let r=new URLSearchParams({...s,limit:mn});return t&&r.set("provider",t),e&&r.set(ko.test(e)?"id":xo.test(e)?"vip_address":"name",e),`${X}/loadbalancers?${r}`}async function Eo(e){let t=await V(v(_n(e)));if(!t.refused)return{...t,path:_n(e)};let n=await v($n(e)),o=n.loadbalancers.map(s=>({...s,environment:s.provider,group_number:null}));return{...n,loadbalancers:o,path:$n(e),own:!0}}function gn({live:e,query:t}){let n=JSON.stringify(t),{data:o,error:s}=A(()=>Eo(t),e.newest,[n]),r=(d,c)=>Qt(H("loadbalancers",{...t,marker:"",page_reverse:"",...d}),c),[a="",l]=(t.sort||"").split(":"),u={key:a,descending:l==="desc",link:(d,c)=>H("loadbalancers",{...t,marker:"",page_reverse:"",sort:`${d}:${c?"desc":"asc"}`})},p=[["Name",d=>i`<a href="#/loadbalancers/${d.id}">${d.name||C(d.id)}</a>${d.held&&i` <span class="tag">held</span>`}`,"name"],["Id",d=>i`<code title=${d.id}>${C(d.id)}</code>`],["VIP",d=>d.vip_address,"vip_address"],["Provisioning",d=>i`<${b} value=${d.provisioning_status} />`,"provisioning_status"],["Operating",d=>i`<${b} value=${d.operating_status} />`,"operating_status"],["Place",d=>d.group_number===null?d.environment:`${d.environment}/${d.group_number}`],["Project",d=>i`<a title=${d.project_id} href=${H("loadbalancers",{project_id:d.project_id})}>${C(d.project_id)}</a>`],["Age",d=>q(d.created_at),"created_at"],["Reason",d=>d.status_reason||d.operating_reason]];return i`<div class="heading"><h1>Load balancers</h1>${o&&i`<${So} data=${o} />`}</div>
    <${Ao} query=${t} ask=${r} live=${e} />
    <${E} error=${s} loading=${!o} />
    ${o&&i`<${j} caption="Load balancers" columns=${p} rows=${o.loadbalancers} empty="None is like that." order=${u} />
      <${To} links=${o.loadbalancers_links||[]} query=${t} />
      <${k} command="evenkeel loadbalancer list" path=${o.path} />`}`}function So({data:e}){if(e.own)return null;let t=e.total.toLocaleString("en");return i`<p class="total" role="status">${e.total_is_exact?t:`more than ${t}`} ${e.total===1?"load balancer":"load balancers"}</p>`}function To({links:e,query:t}){if(!e.length)return null;let n=(s,r)=>{let a=e.find(d=>d.rel===s);if(!a)return i`<span class="away">${r}</span>`;let l=new URL(a.href,location.href).searchParams,[u,p]=[l.get("marker"),l.get("page_reverse")||""];return i`<a rel=${s==="next"?"next":"prev"} href=${H("loadbalancers",{...t,marker:u,page_reverse:p})}>${r}</a>`},o=H("loadbalancers",{...t,marker:"",page_reverse:""});return i`<nav class="pages" aria-label="Pages">
    ${t.marker?i`<a href=${o}>First</a>`:i`<span class="away">First</span>`} ${n("previous","Previous")} ${n("next","Next")}
  </nav>`}function Ao({query:e,ask:t,live:n}){let o=A(async()=>(await V(v(`${h}/environments`))).environments||[],n.newest).data||[],s=Oo(e.environment),r=(l,u,p,d={})=>i`<label
      >${l}
      <select value=${e[u]||""} onChange=${c=>t({[u]:c.target.value,...d})}>
        <option value="">any</option>
        ${p.map(c=>Array.isArray(c)?i`<option value=${c[0]}>${c[1]}</option>`:i`<option>${c}</option>`)}
      </select></label
    >`,a=hn.some(l=>e[l]&&l!=="sort"&&l!=="marker"&&l!=="page_reverse");return i`<form class="search" role="search" onSubmit=${l=>l.preventDefault()}>
    <${fn} label="Search" type="search" wide value=${e.q||""} hint="name, VIP, member's address, project or id" told=${l=>t({q:l},{instead:!!e.q&&!!l})} />
    ${r("Provisioning","provisioning_status",yo)} ${r("Operating","operating_status",wo)}
    ${o.length>0&&r("Environment","environment",o.map(l=>l.name),{group_number:""})}
    ${e.environment&&r("Device group","group_number",s)}
    <${fn} label="Project" value=${e.project_id||""} hint="whole id" told=${l=>t({project_id:l})} />
    ${r("Switched over","held",[["false","yes"],["true","no: held"]])}
    ${a&&i`<a class="clear" href=${H("loadbalancers",{sort:e.sort})}>Clear</a>`}
  </form>`}function Oo(e){return A(async()=>{if(!e)return[];let{agents:n=[]}=await V(v(`${h}/agents?environment=${encodeURIComponent(e)}`));return[...new Set(n.map(o=>o.group_number))].sort((o,s)=>o-s).map(String)},0,[e]).data||[]}function fn({label:e,value:t,hint:n,told:o,wide:s,type:r="text"}){let[a,l]=T(t),u=U(0),p=U(t);P(()=>{t!==p.current&&l(t),p.current=t},[t]);function d(c){let _=c.target.value;l(_),clearTimeout(u.current),u.current=setTimeout(()=>{p.current=_.trim(),o(p.current)},bo)}return P(()=>()=>clearTimeout(u.current),[]),i`<label class=${s?"wide":""}>${e} <input type=${r} value=${a} onInput=${d} placeholder=${n} maxlength="255" spellcheck="false" autocomplete="off" /></label>`}var Xe={listener:["listener","listener","listener",e=>`listeners/${e}`],pool:["pool","pool","pool",e=>`pools/${e}`],member:["member","member","member",(e,t)=>`pools/${t}/members/${e}`],healthmonitor:["health monitor","healthmonitor","healthmonitor",e=>`healthmonitors/${e}`],l7policy:["L7 policy","l7policy","l7policy",e=>`l7policies/${e}`],rule:["L7 rule","rule","l7rule",(e,t)=>`l7policies/${t}/rules/${e}`]},Ye={listeners:"listener",pools:"pool",members:"member",l7policies:"l7policy",rules:"rule"},bn=new Set(["member","rule"]),Ro=new Set(["provisioning_status","operating_status"]),Ze=(e,t,n,o)=>`#/loadbalancers/${e}/${t}/${n}${bn.has(t)?`/${o}`:""}`;function yn(e){let t=new Map(e.pools.map(s=>[s.id,s])),n=new Set,o=e.listeners.map(s=>{let r=new Set([s.default_pool_id,...s.l7policies.map(a=>a.redirect_pool_id)]);for(let a of r)n.add(a);return{...s,pools:[...r].filter(a=>t.has(a)).map(a=>t.get(a))}});return{...e,listeners:o,pools:e.pools.filter(s=>!n.has(s.id))}}function Qe({node:e,kind:t,root:n,parent:o}){let s=Object.entries(Ye).flatMap(([l,u])=>(e[l]||[]).map(p=>[u,p]));e.health_monitor&&s.push(["healthmonitor",e.health_monitor]);let r=e.address?` ${e.address}:${e.protocol_port}`:"",a=e.name||e.type||C(e.id);return i`<ul class="tree">
    <li>
      <span class="kind">${t?Xe[t][0]:"load balancer"}</span>${" "}
      ${t?i`<a href=${Ze(n,t,e.id,o)}>${a}${r}</a>`:a}${" "}
      <${b} value=${e.provisioning_status} />${e.status_reason&&` ${e.status_reason}`}${e.operating_status&&i` <${b} value=${e.operating_status} />`}
      ${s.map(([l,u])=>i`<${Qe} node=${u} kind=${l} root=${n} parent=${e.id} />`)}
    </li>
  </ul>`}function wn({root:e,kind:t,id:n,parent:o,live:s}){let[r,a,l,u]=Xe[t]||Xe.listener,{data:p,error:d}=A(async()=>(await v(`${X}/${u(n,o)}`))[a],s.newest,[t,n,o]);return i`<p><a href="#/loadbalancers/${e}">The load balancer</a></p>
    <h1>${r} ${p?p.name||C(n):C(n)}</h1>
    <${E} error=${d} loading=${!p} />
    ${p&&i`<${ee} facts=${Object.entries(p).map(([c,_])=>[c,Do(c,_,e,n,p)])} />`}
    <${k}
      command="openstack loadbalancer ${l} show ${bn.has(t)?`${o} `:""}${n}"
      path="${X}/${u(n,o)}"
    />`}var vn={default_pool_id:"pool",redirect_pool_id:"pool",healthmonitor_id:"healthmonitor",listener_id:"listener",pool_id:"pool"};function Do(e,t,n,o){return Ro.has(e)?i`<${b} value=${t} />`:t==null||t===""?"–":vn[e]?i`<a href=${Ze(n,vn[e],t,o)}>${C(t)}</a>`:Array.isArray(t)&&Ye[e]&&t.every(s=>s&&s.id)?t.length?t.map(s=>i`<a href=${Ze(n,Ye[e],s.id,o)}>${C(s.id)}</a>${" "}`):"none":typeof t=="object"?JSON.stringify(t)==="[]"?"none":i`<code>${JSON.stringify(t)}</code>`:String(t)}var kn=240,et=60,xn=3;function Po({title:e,figures:t,points:n}){let o=Object.keys(t),s=c=>n.map((_,$)=>[$,_[c]]).filter(([,_])=>_!=null),r=o.map(c=>[c,s(c)]);if(!r.some(([,c])=>c.length))return null;let a=Math.max(1e-9,...r.flatMap(([,c])=>c.map(([,_])=>_))),l=c=>(c*kn/Math.max(1,n.length-1)).toFixed(1),u=c=>(et-2-c/a*(et-6)).toFixed(1),p=c=>c.length>1?c.map(([_,$])=>`${l(_)},${u($)}`).join(" "):`${l(c[0][0])-xn},${u(c[0][1])} ${+l(c[0][0])+xn},${u(c[0][1])}`,d=r.filter(([,c])=>c.length).map(([c,_])=>`${t[c]&&`${t[c]} `}${B(_[_.length-1][1])}`).join(" ");return i`<figure class="chart">
    <figcaption>${e} <strong>${d}</strong></figcaption>
    <svg viewBox="0 0 ${kn} ${et}" role="img" aria-label="${e}, last ${d}, at most ${B(a)}" preserveAspectRatio="none">
      ${r.flatMap(([,c],_)=>Co(c).map($=>i`<polyline class="series-${_}" points=${p($)} />`))}
    </svg>
  </figure>`}function Co(e){let t=[];for(let n of e){let o=t[t.length-1];o&&o[o.length-1][0]===n[0]-1?o.push(n):t.push([n])}return t}var En=({lines:e,points:t})=>i`<div class="charts">${e.map(([n,o])=>i`<${Po} key=${n} title=${n} figures=${o} points=${t} />`)}</div>`;var No=[["Connections per second",{connections:""}],["Open connections",{active_connections:""}],["Bytes per second",{bytes_in:"in",bytes_out:"out"}],["Errors per second",{request_errors:""}]],Io=[...No,["Members online",{members_online:"",members:"of"}]];function Sn({id:e,turn:t}){let n=`${h}/loadbalancers/${e}/series`,{data:o,error:s}=A(()=>v(n),t,[e]);if(s&&s.status===403)return i`<h2>Traffic</h2><${me} error=${s} />`;if(!o||!o.points||o.points.length<2)return null;let r=o.points[0].at.slice(11,16);return i`<h2>Traffic since ${r} UTC</h2>
    <${En} lines=${Io} points=${o.points} />
    <${k} command="evenkeel loadbalancer series ${e}" path=${n} />`}function Tn({id:e,live:t}){async function n(){let[r,a,l,u,p]=await Promise.all([v(`${X}/loadbalancers/${e}`),V(v(`${h}/loadbalancers/${e}/tree`)),V(v(`${h}/loadbalancers/${e}/agent`)),V(v(`${h}/loadbalancers/${e}/history`)),V(v(`${h}/events?object_id=${e}&newest=true&limit=20`))]);return{root:r.loadbalancer,tree:a.refused?a:yn(a.tree),hosting:l.refused?l:l.hosting,history:u,events:p.refused?p:p.events.slice().reverse()}}let{data:o,error:s}=A(n,t.newest,[e]);return i`<p><a href="#/loadbalancers">All load balancers</a></p>
    <h1>${o?o.root.name||C(e):C(e)}</h1>
    <${E} error=${s} loading=${!o} />
    ${o&&i`<${Lo} data=${o} />
      <${Sn} id=${e} turn=${o.hosting.applied_revision} />
      <h2>Objects</h2>
      ${o.tree.refused?i`<${E} error=${o.tree.refused} />`:i`<${Qe} node=${o.tree} root=${e} />`}
      <${k} command="evenkeel loadbalancer tree ${e}" path="${h}/loadbalancers/${e}/tree" />
      <${Ho} id=${e} />
      <${Uo} history=${o.history} id=${e} />
      <h2>Events</h2>
      ${o.events.refused?i`<${E} error=${o.events.refused} />`:i`<${qe} events=${o.events} />`}`}
    <${k} command="evenkeel explain ${e}" path="${h}/loadbalancers/${e}/agent" />`}function Lo({data:{root:e,hosting:t}}){if(t.refused)return i`<${Mo} root=${e} /><${E} error=${t.refused} />`;let n=t.revision-t.applied_revision;return i`<${ee}
    facts=${[["VIP",e.vip_address],["Project",e.project_id],["Provisioning",i`<${b} value=${t.provisioning_status} /> ${t.status_reason}`],["Operating",i`<${b} value=${t.operating_status} /> ${t.operating_reason}`],["Desired revision",t.revision],["On the devices",`${t.applied_revision}${n?` (${n} behind)`:" (the same)"}`],["Written by",t.acting?i`<a href="#/agents/${t.acting.id}">${t.acting.host}</a>, epoch ${t.shard.epoch}`:"no agent"],["Home",t.home?i`<a href="#/agents/${t.home.id}">${t.home.host}</a>`:"none"],["Before it in line",t.ahead]]}
  />`}function Mo({root:e}){return i`<${ee}
    facts=${[["VIP",e.vip_address],["Project",e.project_id],["Provisioning",i`<${b} value=${e.provisioning_status} /> ${e.status_reason}`],["Operating",i`<${b} value=${e.operating_status} />`]]}
  />`}var jo=3e4;function Ho({id:e}){let[t,n]=T({plan:null,error:null,asking:!1});async function o(){n({plan:null,error:null,asking:!0});try{n({plan:(await Wt(`${h}/loadbalancers/${e}/plan`,void 0,jo)).plan,error:null,asking:!1})}catch(s){n({plan:null,error:s,asking:!1})}}return i`<section aria-labelledby="difference">
    <h2 id="difference">Desired and observed</h2>
    <p><button type="button" onClick=${o} disabled=${t.asking}>Compare with the devices</button>${" "}
      Its agent reads the devices and says what its next pass would change. Nothing is changed.</p>
    <div aria-live="polite">
      ${t.asking&&i`<p>Asking the agent…</p>`}
      <${E} error=${t.error} />
      ${t.plan&&t.plan.devices.map(s=>i`<${Fo} key=${s.device} device=${s} host=${t.plan.host} />`)}
    </div>
    <${k} command="evenkeel plan ${e}" path="${h}/loadbalancers/${e}/plan" method="POST" />
  </section>`}function Fo({device:e,host:t}){let n=e.operations.flatMap((s,r)=>(s.attributes.length?s.attributes:[{name:"",present:"",wanted:""}]).map((l,u)=>({id:`${r}.${u}`,step:s,attribute:l}))),o=[["Would",({step:s})=>s.verb],["Object",({step:s})=>i`${s.type} <strong>${s.name}</strong>${s.note&&` (${s.note})`}`],["Attribute",({attribute:s})=>s.name],["Observed",({attribute:s})=>s.present],["Desired",({attribute:s})=>s.wanted]];return i`<h3>${e.device}, read by ${t}</h3>
    ${e.problem&&i`<p class="failure">${e.problem}</p>`}
    ${!n.length&&!e.problem?i`<p class="status good"><span aria-hidden="true">●</span> It holds what is desired: no difference.</p>`:i`<${j} caption="Differences on ${e.device}" columns=${o} rows=${n} empty="" />`}
    ${e.more>0&&i`<p>${e.more} more objects differ.</p>`}`}function Uo({history:e,id:t}){let n=[["Revision",o=>o.revision],["Accepted",o=>i`<time>${fe(o.accepted_at)}</time>`],["By",o=>Bo(o)],["Request",o=>o.request_id?i`<code>${o.request_id}</code>`:""],["Applied",o=>o.applied_at?i`<time>${fe(o.applied_at)}</time>`:o.problem?i`<${b} value="failed" /> ${o.problem}`:i`<${b} value="waiting" />`],["Seconds",o=>o.seconds===null?"":o.seconds.toFixed(2)],["By agent",o=>o.host?i`<a href="#/agents/${o.agent_id}">${o.host}</a>`:""],["Epoch",o=>o.epoch]];return i`<h2>History</h2>
    <${E} error=${e.refused} />
    <${j} caption="Revisions" columns=${n} rows=${e.history&&e.history.map(o=>({...o,id:o.revision}))} empty="No revision is known: it was made before revisions were kept." />
    <${k} command="evenkeel loadbalancer history ${t}" path="${h}/loadbalancers/${t}/history" />`}function Bo(e){return e.request_id?`${e.user||"anybody: no authentication"} ${e.project_id&&`(${C(e.project_id)})`}`:"the controllers (certificate or network)"}function An({reason:e,done:t}){let[n,o]=T("password");function s(r){r.preventDefault();let a=new FormData(r.target);Mt(n==="password"?Ht(a.get("name"),a.get("password")):Ft(a.get("token"))),t()}return i`<main class="login">
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
  </main>`}var re=220,[se,tt,Ae,Oe]=[52,12,10,24],On=4,Re=36e5,Wo={1:Re/6,6:Re,24:4*Re},Vo=420,Go=e=>Date.parse(`${e}Z`),nt=e=>new Date(e).toISOString().slice(11,16),te=e=>e!=null;function Ko(e){let t=10**Math.floor(Math.log10(e));return[1,2,4,5,10].find(n=>n*t>=e*.9999)*t}function zo(){let e=U(null),[t,n]=T(600);return P(()=>{let o=new ResizeObserver(([s])=>n(Math.round(s.contentRect.width)));return o.observe(e.current),()=>o.disconnect()},[]),[e,t]}function qo(e,t,n){let o=[],s=null;for(let r of e){if(!te(r[t])){s=null;continue}s!==null&&r.time-s<=n?o[o.length-1].push(r):o.push([r]),s=r.time}return o}function Jo(e,t,n,o,s){let r=[],a=n;for(let l of e)t.some(u=>te(l[u]))&&(l.time-a>s&&r.push([a,l.time]),a=l.time);return o-a>s&&r.push([a,o]),r}function Rn({title:e,unit:t,figures:n,points:o,hours:s,stepMs:r,to:a,sparse:l}){let[u,p]=zo(),[d,c]=T(null),_=a-s*Re,$=o.map(m=>({...m,time:Go(m.at)})).filter(m=>m.time>=_),f=n.map(([m])=>m),x=r*1.75,y=$.flatMap(m=>f.map(O=>m[O])).filter(te),g=Math.max(0,...y),w=g>0?Ko(g):1,N=m=>se+(m-_)/(a-_)*(p-se-tt),I=m=>re-Oe-m/w*(re-Ae-Oe),L=d===null?null:$[Math.min(d,$.length-1)],W=l?$.filter(m=>te(m[f[0]])).pop():$[$.length-1],ae=l||"not known yet",J=m=>f.some(O=>te(m[O]))?Z(m):"not known",Z=m=>n.map(([O,K])=>`${K} ${te(m[O])?`${B(m[O])} ${t}`:"not known"}`).join(", ");function ie(m){if(!$.length)return;let O=_+(m.clientX-m.currentTarget.getBoundingClientRect().left-se)/(p-se-tt)*(a-_);c($.reduce((K,ge,Un)=>Math.abs(ge.time-O)<Math.abs($[K].time-O)?Un:K,0))}function F(m){let O={ArrowLeft:-1,ArrowRight:1}[m.key];!O||!$.length||(m.preventDefault(),c(Math.max(0,Math.min($.length-1,(d===null?$.length:d)+O))))}let G=Wo[s]*(p<Vo?2:1),ot=[];for(let m=Math.ceil(_/G)*G;m<=a;m+=G)ot.push(m);let rt=`unknown-${e.replace(/\W/g,"")}`;return i`<figure class="big chart" ref=${u}>
    <figcaption>
      <span class="name">${e}</span>
      <span class="unit">${t}</span>
      <span class="read" role="status">${L?`${nt(L.time)} UTC: ${J(L)}`:W?`${l?`last, ${nt(W.time)}`:"now"}: ${J(W)}`:ae}</span>
    </figcaption>
    <svg
      width=${p}
      height=${re}
      role="img"
      tabindex="0"
      aria-label="${e} over the last ${s} h; ${W?J(W):ae}. Arrow keys read single points."
      onPointerMove=${ie}
      onPointerLeave=${()=>c(null)}
      onKeyDown=${F}
      onBlur=${()=>c(null)}
    >
      <defs>
        <pattern id=${rt} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line y2="6" class="hatch" /></pattern>
      </defs>
      ${!l&&Jo($,f,_,a,x).map(([m,O])=>i`<rect class="unknown" fill="url(#${rt})" x=${N(m)} y=${Ae} width=${Math.max(0,N(O)-N(m))} height=${re-Ae-Oe} />`)}
      ${Array.from({length:On+1},(m,O)=>w*O/On).map(m=>i`<g class="axis"><line x1=${se} x2=${p-tt} y1=${I(m)} y2=${I(m)} /><text x=${se-6} y=${I(m)+4} text-anchor="end">${m===0?"0":y.length?B(m):""}</text></g>`)}
      ${ot.map(m=>i`<text class="hour" x=${N(m)} y=${re-6} text-anchor="middle">${nt(m)}</text>`)}
      ${n.map(([m],O)=>qo($,m,l?1/0:x).map(K=>K.length>1?i`<polyline class="series-${O}" points=${K.map(ge=>`${N(ge.time).toFixed(1)},${I(ge[m]).toFixed(1)}`).join(" ")} />`:i`<circle class="series-${O}" cx=${N(K[0].time)} cy=${I(K[0][m])} r="3" />`))}
      ${L&&i`<line class="cursor" x1=${N(L.time)} x2=${N(L.time)} y1=${Ae} y2=${re-Oe} />
        ${n.map(([m],O)=>te(L[m])&&i`<circle class="series-${O} at" cx=${N(L.time)} cy=${I(L[m])} r="4" />`)}`}
    </svg>
    <ul class="legend">
      ${n.map(([,m],O)=>i`<li class="series-${O}">${m}</li>`)}
      ${!l&&i`<li class="gap">not known</li>`}
    </ul>
  </figure>`}var Xo=`${h}/activity`,Dn=[1,6,24],Yo=360,Zo=[{title:"Requests",unit:"/s",figures:[["requests","answered"],["failed_requests","failed"]]},{title:"Time to ACTIVE",unit:"s",figures:[["time_to_active_seconds","mean"]],sparse:"no change in this time"},{title:"Traffic",unit:"B/s",figures:[["bytes_in","in"],["bytes_out","out"]]},{title:"Connections",unit:"/s",figures:[["connections","new"]]}];function Pn({query:e}){let t=Dn.includes(Number(e.hours))?Number(e.hours):1,n=`${Xo}?hours=${t}`,{data:o,error:s,at:r}=A(async()=>({...(await v(n)).activity,hours:t}),0,[n]);return i`<section aria-labelledby="activity">
    <div class="heading">
      <h2 id="activity">Requests, time to ACTIVE and traffic</h2>
      <nav class="spans" aria-label="Span">
        ${Dn.map(a=>i`<a href=${H("",{hours:a===1?"":String(a)})} aria-current=${a===t?"true":null}>${a} h</a>`)}
      </nav>
    </div>
    <${E} error=${s} loading=${!o} />
    ${o&&i`<${Qo} data=${o} to=${r} />`}
    <${k} command="evenkeel activity" path=${n} />
  </section>`}function Qo({data:e,to:t}){let{requests:n,time_to_active:o,points:s,hours:r}=e,a=e.interval*1e3*Math.max(1,Math.ceil(r*3600/e.interval/Yo));return i`<p class="live">
      ${B(n.count)} requests since ${fe(e.since)} UTC, ${B(n.failed)} failed,
      ${n.mean_seconds===null?"":` ${Math.round(n.mean_seconds*1e3)} ms in the mean;`}
      ${o.count?` ${B(o.count)} changes became ACTIVE, half of them within ${B(o.median_seconds)} s, 95 % within ${B(o.p95_seconds)} s.`:" no change became ACTIVE yet."}
      ${" "}These are of the controller that answered (of several workers: the one); traffic is that of all load balancers.
    </p>
    ${s.length?"":i`<p class="empty">${e.reason}</p>`}
    <div class="bigs">${Zo.map(l=>i`<${Rn} key=${l.title} ...${l} points=${s} hours=${r} stepMs=${a} to=${t} />`)}</div>`}function Ln({live:e,query:t}){let{data:n,error:o}=A(async()=>(await v(`${h}/status`)).status,e.newest);return i`<h1>Overview</h1>
    <${E} error=${o} loading=${!n} />
    ${n&&i`<${tr} status=${n} /><${nr} problems=${n.problems} /><${rr} status=${n} />`}
    <${k} command="evenkeel status" path="${h}/status" />
    <${Pn} query=${t} />
    <h2>Latest events</h2>
    <${Je} live=${e} most=${8} />
    <${k} command="evenkeel events" path="${h}/events?newest=true" />`}var er=new Set(["ONLINE","NO_MONITOR"]),Mn=e=>Object.values(e).reduce((t,n)=>t+n,0),jn=e=>e.load_balancers_operating??{};function tr({status:e}){if(e.problems.length)return null;let t=jn(e),n=Object.entries(t).filter(([a,l])=>l&&!er.has(a)),o=Mn(t);if(!n.length)return i`<p class="verdict good"><span aria-hidden="true">●</span> Nothing is wrong.</p>`;let s=H("loadbalancers",{operating_status:n.map(([a])=>a).join(",")}),r=n.reduce((a,[,l])=>a+l,0);return i`<p class="verdict unsure">
    <span aria-hidden="true">◆</span> No fault of the system is known, but <a href=${s}>${r.toLocaleString("en")} of ${o.toLocaleString("en")} ${o===1?"load balancer is":"load balancers are"} not ONLINE</a>:
    without listeners or healthy members, disabled, held, or just made.
  </p>`}var Cn={agent:e=>`#/agents/${e}`,environment:()=>"#/environments",device_group:()=>"#/devices",load_balancer:e=>`#/loadbalancers/${e}`,load_balancers:e=>`#/loadbalancers?${e}`,shards:()=>"#/topology"};function nr({problems:e}){return e.length?i`<section class="problems" aria-label="Problems">
    <h2>${e.length} ${e.length===1?"problem":"problems"}</h2>
    <ul>
      ${e.map(t=>i`<${or} key=${t.kind+t.text} problem=${t} />`)}
    </ul>
  </section>`:null}function or({problem:{text:e,remedy:t,objects:n=[],commands:o=[]}}){return i`<li class="problem">
    <h3><span aria-hidden="true">▲</span> ${e}</h3>
    ${n.length>0&&i`<p class="about">See ${n.map((s,r)=>i`${r>0&&", "}<a href=${Cn[s.kind]?Cn[s.kind](s.id):"#/"}>${s.name}</a>`)}</p>`}
    ${o.length?i`<ul class="commands">
          ${o.map(s=>i`<li>${(s.host||s.condition)&&i`<span class="host">${s.host?`on ${s.host}`:s.condition}</span>`} <code>${s.command}</code> <${tn} text=${s.command} about=${s.command} /></li>`)}
        </ul>`:i`<p class="about">What helps: ${t}</p>`}
  </li>`}function Nn({title:e,counts:t,filter:n}){let o=Object.entries(t).filter(([,r])=>r).sort(([r],[a])=>In.indexOf($e(r))-In.indexOf($e(a))),s=Mn(t);return i`<section class="panel" aria-label=${e}>
    <h2>${e}</h2>
    <p class="value"><a href="#/loadbalancers">${s.toLocaleString("en")}</a> <span class="dim">${s===1?"load balancer":"load balancers"}</span></p>
    <div class="bar" aria-hidden="true">${o.map(([r,a])=>i`<span class=${$e(r)} style=${{flexGrow:a}}></span>`)}</div>
    <ul>
      ${o.map(([r,a])=>i`<li><a href=${H("loadbalancers",{[n]:r})}><${b} value=${r} /> <span class="count">${a.toLocaleString("en")}</span></a></li>`)}
    </ul>
  </section>`}var In=["bad","unsure","other","good"];function rr({status:e}){let{agents:t,shards:n}=e,o=e.message_broker==="connected",s=[["Agents up",`${t.up} of ${t.up+t.down}`,t.down>0&&i`<${b} value="silent" /> or stopped: ${t.down}`,"#/agents"],["Shards",n.total,n.unserved>0&&i`<${b} value="unserved" /> ${n.unserved}`,"#/topology"],["Oldest PENDING",`${e.oldest_pending_seconds} s`,null,H("loadbalancers",{provisioning_status:"PENDING_CREATE,PENDING_UPDATE,PENDING_DELETE"})],["Message broker",o?"connected":"away",!o&&i`<${b} value="out of reach" />`,"#/controllers"]];return i`<div class="panels">
      <${Nn} title="Operating: what clients get" counts=${jn(e)} filter="operating_status" />
      <${Nn} title="Provisioning: what devices have" counts=${e.load_balancers} filter="provisioning_status" />
    </div>
    <ul class="cards">
      ${s.map(([r,a,l,u])=>i`<li><a href=${u}><span class="title">${r}</span> <span class="value">${a}</span></a> ${l&&i`<p class="more">${l}</p>`}</li>`)}
    </ul>`}var sr=34,M={controller:0,bus:180,agent:310,shard:540,device:740},Y={controller:150,bus:100,agent:170,device:260},ar=M.device+Y.device+2,ir=async()=>(await v(`${h}/topology`)).topology;function Fn({live:e}){let{data:t,error:n}=A(ir,e.newest);return i`<h1>Topology</h1>
    <p>A line is a shard: the agent that may write to the devices, with its epoch. At a takeover the line moves and the epoch grows.</p>
    <${E} error=${n} loading=${!t} />
    ${t&&!t.groups.length&&i`<p class="empty">No agent has registered yet.</p>`}
    ${t&&t.groups.map(o=>i`<${cr} key="${o.environment}/${o.group_number}" group=${o} topology=${t} />`)}
    <${k} command="evenkeel shard list" path="${h}/topology" />`}function lr(e){if(e.shards.length)return e.shards.map(n=>({key:n.id,agent:n.acting_agent_id,text:`${C(n.project_id)} · epoch ${n.epoch}`,served:n.served}));let t=new Set(e.agents.filter(n=>n.alive).map(n=>n.id));return e.lines.map(n=>({key:n.agent_id||"none",agent:n.agent_id,text:`${n.shards} shards · epochs to ${n.newest_epoch}`,served:t.has(n.agent_id)}))}function cr({group:e,topology:t}){let n=lr(e),{agents:o,devices:s}=e,{controllers:r}=t,l=Math.max(o.length,n.length,s.length,r.length,1)*sr+10,u=(f,x)=>(f+.5)*l/x,p=new Map(o.map((f,x)=>[f.id,u(x,o.length)])),d=l/2,c=t.message_broker==="connected",_=`${e.environment}/${e.group_number}`,$=n.map(f=>`${Hn(o,f.agent)}: ${f.text}`).join("; ");return i`<figure class="topology">
    <figcaption><h2>${_}</h2>${e.halted&&i`<p class="failure">Halted: ${e.halted}. No shard moves.</p>`}</figcaption>
    <div class="scroll" tabindex="0" role="region" aria-label="Topology of ${_}">
    <svg viewBox="0 0 ${ar} ${l}" role="group" aria-label="Who may write to the devices of ${_}: ${$||"no shards"}">
      ${r.map((f,x)=>{let y=u(x,r.length);return i`<line class=${f.alive?"link":"link cut"} x1=${M.controller+Y.controller} y1=${y} x2=${M.bus} y2=${d} />
          <${De} x=${M.controller} at=${y} width=${Y.controller} state=${f.alive?"up":"silent"} text="controller :${f.url.split(":").pop()}" />`})}
      ${o.map(f=>i`<line class=${f.alive?"link":"link cut"} x1=${M.bus+Y.bus} y1=${d} x2=${M.agent} y2=${p.get(f.id)} />
          <a href="#/agents/${f.id}"><${De} x=${M.agent} at=${p.get(f.id)} width=${Y.agent} state=${f.state} text="${f.host} · ${f.state}" /></a>`)}
      <${De} x=${M.bus} at=${d} width=${Y.bus} state=${c?"up":"silent"} text="message bus" />
      ${n.map((f,x)=>{let y=u(x,n.length),g=p.get(f.agent),w=M.agent+Y.agent;return i`${g!==void 0&&i`<path class="owner ${f.served?"":"cut"}" d="M${w} ${g} C ${w+40} ${g} ${M.shard-40} ${y} ${M.shard} ${y}" />`}
          <text class="shard" data-agent=${Hn(o,f.agent)} x=${M.shard+6} y=${y+4}>${f.text}${g===void 0?" · no agent":""}</text>
          ${s.map((N,I)=>{let L=u(I,s.length);return i`<path class="reach" d="M${M.shard+155} ${y} C ${M.device-30} ${y} ${M.device-30} ${L} ${M.device} ${L}" />`})}`})}
      ${s.map((f,x)=>i`<${De} x=${M.device} at=${u(x,s.length)} width=${Y.device} state=${f.reachable?"up":"silent"} text="${f.own_name||f.name} · ${f.reachable?f.failover_state||"reached":"out of reach"}" />`)}
    </svg>
    </div>
  </figure>`}var ur=6.6;function De({x:e,at:t,width:n,state:o,text:s}){let r=Math.floor((n-16)/ur);return i`<g class="box ${o}" transform="translate(${e} ${t-13})">
    <title>${s}</title>
    <rect width=${n} height="26" rx="5" />
    <text x="8" y="17">${s.length>r?`${s.slice(0,r-1)}…`:s}</text>
  </g>`}function Hn(e,t){let n=e.find(o=>o.id===t);return n?n.host:"no agent"}var Pe={"":["Overview",Ln],topology:["Topology",Fn],loadbalancers:["Load balancers",gn],agents:["Agents",rn],devices:["Devices",cn],controllers:["Controllers",un],environments:["Environments",pn],events:["Events",dn]},pr=[`${h}/events?limit=1&newest=true`,`${h}/activity`,`${X}/loadbalancers?limit=1&fields=id`];function dr(){let[e,t]=T({state:"asking",reason:""});async function n(){let o=null;for(let r of pr)try{return await v(r),t({state:"in",reason:""})}catch(a){if(o=a,a.status!==403)break}let s=o.status===401||o.status===403;t({state:s?"out":"away",reason:Ge()||!s?o.message:""})}return P(()=>{n()},[]),P(()=>{if(e.state!=="away")return;let o=setTimeout(n,2e3);return()=>clearTimeout(o)},[e]),e.state==="asking"?i`<main><p>Loading…</p></main>`:e.state==="out"?i`<${An} reason=${e.reason} done=${n} />`:e.state==="away"?i`<main><p class="failure" role="alert">${e.reason}</p></main>`:i`<${_r}
    leave=${o=>{jt(),t({state:"out",reason:o})}}
  />`}function _r({leave:e}){let t=Xt(),{parts:[n,o,s,r,a],query:l}=Zt(),u=U(null),[p,d]=Pe[n]||Pe[""];P(()=>{document.title=`${p} · Even Keel`,u.current&&document.activeElement!==document.body&&u.current.focus()},[n,o,r]),P(()=>{t.error&&t.error.status===401&&e(t.error.message)},[t.error]);function c(){return n==="agents"&&o?i`<${ln} key=${o} id=${o} live=${t} />`:n!=="loadbalancers"||!o?i`<${d} key=${n} live=${t} query=${l} />`:s?i`<${wn} key=${r} root=${o} kind=${s} id=${r} parent=${a} live=${t} />`:i`<${Tn} key=${o} id=${o} live=${t} />`}return i`<a class="skip" href="#main" onClick=${_=>(_.preventDefault(),u.current.focus())}>Skip to content</a>
    <header>
      <span class="brand">Even Keel</span>
      <nav aria-label="Views">
        ${Object.entries(Pe).map(([_,[$]])=>i`<a href="#/${_}" aria-current=${_===(Pe[n]?n:"")?"page":null}>${$}</a>`)}
      </nav>
      ${Ge()&&i`<button type="button" onClick=${()=>e("")}>Log out</button>`}
    </header>
    <${qt} />
    ${t.error&&t.error.status!==401&&t.error.status!==403&&i`<p class="failure banner" role="alert">${t.error.message}: trying again</p>`}
    <main id="main" tabindex="-1" ref=${u}>
      ${c()}
    </main>`}Fe(i`<${dr} />`,document.getElementById("app"));
