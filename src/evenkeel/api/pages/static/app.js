var _e,x,ze,_n,q,Be,Je,Xe,Qe,xe,ye,we,pn,Z={},Ye=[],dn=/acit|ex(?:s|g|n|p|$)|rph|grid|ows|mnc|ntw|ine[ch]|zoo|^ord|itera/i,pe=Array.isArray;function H(e,t){for(var n in t)e[n]=t[n];return e}function Se(e){e&&e.parentNode&&e.parentNode.removeChild(e)}function de(e,t,n){var o,s,r,a={};for(r in t)r=="key"?o=t[r]:r=="ref"?s=t[r]:a[r]=t[r];if(arguments.length>2&&(a.children=arguments.length>3?_e.call(arguments,2):n),typeof e=="function"&&e.defaultProps!=null)for(r in e.defaultProps)a[r]===void 0&&(a[r]=e.defaultProps[r]);return ce(e,a,o,s,null)}function ce(e,t,n,o,s){var r={type:e,props:t,key:n,ref:o,__k:null,__:null,__b:0,__e:null,__c:null,constructor:void 0,__v:s??++ze,__i:-1,__u:0};return s==null&&x.vnode!=null&&x.vnode(r),r}function fe(e){return e.children}function Y(e,t){this.props=e,this.context=t}function z(e,t){if(t==null)return e.__?z(e.__,e.__i+1):null;for(var n;t<e.__k.length;t++)if((n=e.__k[t])!=null&&n.__e!=null)return n.__e;return typeof e.type=="function"?z(e):null}function Ze(e){var t,n;if((e=e.__)!=null&&e.__c!=null){for(e.__e=e.__c.base=null,t=0;t<e.__k.length;t++)if((n=e.__k[t])!=null&&n.__e!=null){e.__e=e.__c.base=n.__e;break}return Ze(e)}}function Ve(e){(!e.__d&&(e.__d=!0)&&q.push(e)&&!ue.__r++||Be!=x.debounceRendering)&&((Be=x.debounceRendering)||Je)(ue)}function ue(){for(var e,t,n,o,s,r,a,c=1;q.length;)q.length>c&&q.sort(Xe),e=q.shift(),c=q.length,e.__d&&(n=void 0,o=void 0,s=(o=(t=e).__v).__e,r=[],a=[],t.__P&&((n=H({},o)).__v=o.__v+1,x.vnode&&x.vnode(n),Ee(t.__P,n,o,t.__n,t.__P.namespaceURI,32&o.__u?[s]:null,r,s??z(o),!!(32&o.__u),a),n.__v=o.__v,n.__.__k[n.__i]=n,nt(r,n,a),o.__e=o.__=null,n.__e!=s&&Ze(n)));ue.__r=0}function et(e,t,n,o,s,r,a,c,u,_,d){var l,p,f,m,S,b,h,y=o&&o.__k||Ye,M=t.length;for(u=fn(n,t,y,u,M),l=0;l<M;l++)(f=n.__k[l])!=null&&(p=f.__i==-1?Z:y[f.__i]||Z,f.__i=l,b=Ee(e,f,p,s,r,a,c,u,_,d),m=f.__e,f.ref&&p.ref!=f.ref&&(p.ref&&Te(p.ref,null,f),d.push(f.ref,f.__c||m,f)),S==null&&m!=null&&(S=m),(h=!!(4&f.__u))||p.__k===f.__k?u=tt(f,u,e,h):typeof f.type=="function"&&b!==void 0?u=b:m&&(u=m.nextSibling),f.__u&=-7);return n.__e=S,u}function fn(e,t,n,o,s){var r,a,c,u,_,d=n.length,l=d,p=0;for(e.__k=new Array(s),r=0;r<s;r++)(a=t[r])!=null&&typeof a!="boolean"&&typeof a!="function"?(u=r+p,(a=e.__k[r]=typeof a=="string"||typeof a=="number"||typeof a=="bigint"||a.constructor==String?ce(null,a,null,null,null):pe(a)?ce(fe,{children:a},null,null,null):a.constructor==null&&a.__b>0?ce(a.type,a.props,a.key,a.ref?a.ref:null,a.__v):a).__=e,a.__b=e.__b+1,c=null,(_=a.__i=mn(a,n,u,l))!=-1&&(l--,(c=n[_])&&(c.__u|=2)),c==null||c.__v==null?(_==-1&&(s>d?p--:s<d&&p++),typeof a.type!="function"&&(a.__u|=4)):_!=u&&(_==u-1?p--:_==u+1?p++:(_>u?p--:p++,a.__u|=4))):e.__k[r]=null;if(l)for(r=0;r<d;r++)(c=n[r])!=null&&(2&c.__u)==0&&(c.__e==o&&(o=z(c)),rt(c,c));return o}function tt(e,t,n,o){var s,r;if(typeof e.type=="function"){for(s=e.__k,r=0;s&&r<s.length;r++)s[r]&&(s[r].__=e,t=tt(s[r],t,n,o));return t}e.__e!=t&&(o&&(t&&e.type&&!t.parentNode&&(t=z(e)),n.insertBefore(e.__e,t||null)),t=e.__e);do t=t&&t.nextSibling;while(t!=null&&t.nodeType==8);return t}function mn(e,t,n,o){var s,r,a,c=e.key,u=e.type,_=t[n],d=_!=null&&(2&_.__u)==0;if(_===null&&e.key==null||d&&c==_.key&&u==_.type)return n;if(o>(d?1:0)){for(s=n-1,r=n+1;s>=0||r<t.length;)if((_=t[a=s>=0?s--:r++])!=null&&(2&_.__u)==0&&c==_.key&&u==_.type)return a}return-1}function Ke(e,t,n){t[0]=="-"?e.setProperty(t,n??""):e[t]=n==null?"":typeof n!="number"||dn.test(t)?n:n+"px"}function le(e,t,n,o,s){var r,a;e:if(t=="style")if(typeof n=="string")e.style.cssText=n;else{if(typeof o=="string"&&(e.style.cssText=o=""),o)for(t in o)n&&t in n||Ke(e.style,t,"");if(n)for(t in n)o&&n[t]==o[t]||Ke(e.style,t,n[t])}else if(t[0]=="o"&&t[1]=="n")r=t!=(t=t.replace(Qe,"$1")),a=t.toLowerCase(),t=a in e||t=="onFocusOut"||t=="onFocusIn"?a.slice(2):t.slice(2),e.l||(e.l={}),e.l[t+r]=n,n?o?n.u=o.u:(n.u=xe,e.addEventListener(t,r?we:ye,r)):e.removeEventListener(t,r?we:ye,r);else{if(s=="http://www.w3.org/2000/svg")t=t.replace(/xlink(H|:h)/,"h").replace(/sName$/,"s");else if(t!="width"&&t!="height"&&t!="href"&&t!="list"&&t!="form"&&t!="tabIndex"&&t!="download"&&t!="rowSpan"&&t!="colSpan"&&t!="role"&&t!="popover"&&t in e)try{e[t]=n??"";break e}catch{}typeof n=="function"||(n==null||n===!1&&t[4]!="-"?e.removeAttribute(t):e.setAttribute(t,t=="popover"&&n==1?"":n))}}function Ge(e){return function(t){if(this.l){var n=this.l[t.type+e];if(t.t==null)t.t=xe++;else if(t.t<n.u)return;return n(x.event?x.event(t):t)}}}function Ee(e,t,n,o,s,r,a,c,u,_){var d,l,p,f,m,S,b,h,y,M,N,U,X,We,ie,Q,be,L=t.type;if(t.constructor!=null)return null;128&n.__u&&(u=!!(32&n.__u),r=[c=t.__e=n.__e]),(d=x.__b)&&d(t);e:if(typeof L=="function")try{if(h=t.props,y="prototype"in L&&L.prototype.render,M=(d=L.contextType)&&o[d.__c],N=d?M?M.props.value:d.__:o,n.__c?b=(l=t.__c=n.__c).__=l.__E:(y?t.__c=l=new L(h,N):(t.__c=l=new Y(h,N),l.constructor=L,l.render=hn),M&&M.sub(l),l.props=h,l.state||(l.state={}),l.context=N,l.__n=o,p=l.__d=!0,l.__h=[],l._sb=[]),y&&l.__s==null&&(l.__s=l.state),y&&L.getDerivedStateFromProps!=null&&(l.__s==l.state&&(l.__s=H({},l.__s)),H(l.__s,L.getDerivedStateFromProps(h,l.__s))),f=l.props,m=l.state,l.__v=t,p)y&&L.getDerivedStateFromProps==null&&l.componentWillMount!=null&&l.componentWillMount(),y&&l.componentDidMount!=null&&l.__h.push(l.componentDidMount);else{if(y&&L.getDerivedStateFromProps==null&&h!==f&&l.componentWillReceiveProps!=null&&l.componentWillReceiveProps(h,N),!l.__e&&l.shouldComponentUpdate!=null&&l.shouldComponentUpdate(h,l.__s,N)===!1||t.__v==n.__v){for(t.__v!=n.__v&&(l.props=h,l.state=l.__s,l.__d=!1),t.__e=n.__e,t.__k=n.__k,t.__k.some(function(G){G&&(G.__=t)}),U=0;U<l._sb.length;U++)l.__h.push(l._sb[U]);l._sb=[],l.__h.length&&a.push(l);break e}l.componentWillUpdate!=null&&l.componentWillUpdate(h,l.__s,N),y&&l.componentDidUpdate!=null&&l.__h.push(function(){l.componentDidUpdate(f,m,S)})}if(l.context=N,l.props=h,l.__P=e,l.__e=!1,X=x.__r,We=0,y){for(l.state=l.__s,l.__d=!1,X&&X(t),d=l.render(l.props,l.state,l.context),ie=0;ie<l._sb.length;ie++)l.__h.push(l._sb[ie]);l._sb=[]}else do l.__d=!1,X&&X(t),d=l.render(l.props,l.state,l.context),l.state=l.__s;while(l.__d&&++We<25);l.state=l.__s,l.getChildContext!=null&&(o=H(H({},o),l.getChildContext())),y&&!p&&l.getSnapshotBeforeUpdate!=null&&(S=l.getSnapshotBeforeUpdate(f,m)),Q=d,d!=null&&d.type===fe&&d.key==null&&(Q=ot(d.props.children)),c=et(e,pe(Q)?Q:[Q],t,n,o,s,r,a,c,u,_),l.base=t.__e,t.__u&=-161,l.__h.length&&a.push(l),b&&(l.__E=l.__=null)}catch(G){if(t.__v=null,u||r!=null)if(G.then){for(t.__u|=u?160:128;c&&c.nodeType==8&&c.nextSibling;)c=c.nextSibling;r[r.indexOf(c)]=null,t.__e=c}else{for(be=r.length;be--;)Se(r[be]);ke(t)}else t.__e=n.__e,t.__k=n.__k,G.then||ke(t);x.__e(G,t,n)}else r==null&&t.__v==n.__v?(t.__k=n.__k,t.__e=n.__e):c=t.__e=$n(n.__e,t,n,o,s,r,a,u,_);return(d=x.diffed)&&d(t),128&t.__u?void 0:c}function ke(e){e&&e.__c&&(e.__c.__e=!0),e&&e.__k&&e.__k.forEach(ke)}function nt(e,t,n){for(var o=0;o<n.length;o++)Te(n[o],n[++o],n[++o]);x.__c&&x.__c(t,e),e.some(function(s){try{e=s.__h,s.__h=[],e.some(function(r){r.call(s)})}catch(r){x.__e(r,s.__v)}})}function ot(e){return typeof e!="object"||e==null||e.__b&&e.__b>0?e:pe(e)?e.map(ot):H({},e)}function $n(e,t,n,o,s,r,a,c,u){var _,d,l,p,f,m,S,b=n.props,h=t.props,y=t.type;if(y=="svg"?s="http://www.w3.org/2000/svg":y=="math"?s="http://www.w3.org/1998/Math/MathML":s||(s="http://www.w3.org/1999/xhtml"),r!=null){for(_=0;_<r.length;_++)if((f=r[_])&&"setAttribute"in f==!!y&&(y?f.localName==y:f.nodeType==3)){e=f,r[_]=null;break}}if(e==null){if(y==null)return document.createTextNode(h);e=document.createElementNS(s,y,h.is&&h),c&&(x.__m&&x.__m(t,r),c=!1),r=null}if(y==null)b===h||c&&e.data==h||(e.data=h);else{if(r=r&&_e.call(e.childNodes),b=n.props||Z,!c&&r!=null)for(b={},_=0;_<e.attributes.length;_++)b[(f=e.attributes[_]).name]=f.value;for(_ in b)if(f=b[_],_!="children"){if(_=="dangerouslySetInnerHTML")l=f;else if(!(_ in h)){if(_=="value"&&"defaultValue"in h||_=="checked"&&"defaultChecked"in h)continue;le(e,_,null,f,s)}}for(_ in h)f=h[_],_=="children"?p=f:_=="dangerouslySetInnerHTML"?d=f:_=="value"?m=f:_=="checked"?S=f:c&&typeof f!="function"||b[_]===f||le(e,_,f,b[_],s);if(d)c||l&&(d.__html==l.__html||d.__html==e.innerHTML)||(e.innerHTML=d.__html),t.__k=[];else if(l&&(e.innerHTML=""),et(t.type=="template"?e.content:e,pe(p)?p:[p],t,n,o,y=="foreignObject"?"http://www.w3.org/1999/xhtml":s,r,a,r?r[0]:n.__k&&z(n,0),c,u),r!=null)for(_=r.length;_--;)Se(r[_]);c||(_="value",y=="progress"&&m==null?e.removeAttribute("value"):m!=null&&(m!==e[_]||y=="progress"&&!m||y=="option"&&m!=b[_])&&le(e,_,m,b[_],s),_="checked",S!=null&&S!=e[_]&&le(e,_,S,b[_],s))}return e}function Te(e,t,n){try{if(typeof e=="function"){var o=typeof e.__u=="function";o&&e.__u(),o&&t==null||(e.__u=e(t))}else e.current=t}catch(s){x.__e(s,n)}}function rt(e,t,n){var o,s;if(x.unmount&&x.unmount(e),(o=e.ref)&&(o.current&&o.current!=e.__e||Te(o,null,t)),(o=e.__c)!=null){if(o.componentWillUnmount)try{o.componentWillUnmount()}catch(r){x.__e(r,t)}o.base=o.__P=null}if(o=e.__k)for(s=0;s<o.length;s++)o[s]&&rt(o[s],t,n||typeof e.type!="function");n||Se(e.__e),e.__c=e.__=e.__e=void 0}function hn(e,t,n){return this.constructor(e,n)}function Ae(e,t,n){var o,s,r,a;t==document&&(t=document.documentElement),x.__&&x.__(e,t),s=(o=typeof n=="function")?null:n&&n.__k||t.__k,r=[],a=[],Ee(t,e=(!o&&n||t).__k=de(fe,null,[e]),s||Z,Z,t.namespaceURI,!o&&n?[n]:s?null:t.firstChild?_e.call(t.childNodes):null,r,!o&&n?n:s?s.__e:t.firstChild,o,a),nt(r,e,a)}_e=Ye.slice,x={__e:function(e,t,n,o){for(var s,r,a;t=t.__;)if((s=t.__c)&&!s.__)try{if((r=s.constructor)&&r.getDerivedStateFromError!=null&&(s.setState(r.getDerivedStateFromError(e)),a=s.__d),s.componentDidCatch!=null&&(s.componentDidCatch(e,o||{}),a=s.__d),a)return s.__E=s}catch(c){e=c}throw e}},ze=0,_n=function(e){return e!=null&&e.constructor==null},Y.prototype.setState=function(e,t){var n;n=this.__s!=null&&this.__s!=this.state?this.__s:this.__s=H({},this.state),typeof e=="function"&&(e=e(H({},n),this.props)),e&&H(n,e),e!=null&&this.__v&&(t&&this._sb.push(t),Ve(this))},Y.prototype.forceUpdate=function(e){this.__v&&(this.__e=!0,e&&this.__h.push(e),Ve(this))},Y.prototype.render=fe,q=[],Je=typeof Promise=="function"?Promise.prototype.then.bind(Promise.resolve()):setTimeout,Xe=function(e,t){return e.__v.__b-t.__v.__b},ue.__r=0,Qe=/(PointerCapture)$|Capture$/i,xe=0,ye=Ge(!1),we=Ge(!0),pn=0;var at=function(e,t,n,o){var s;t[0]=0;for(var r=1;r<t.length;r++){var a=t[r++],c=t[r]?(t[0]|=a?1:2,n[t[r++]]):t[++r];a===3?o[0]=c:a===4?o[1]=Object.assign(o[1]||{},c):a===5?(o[1]=o[1]||{})[t[++r]]=c:a===6?o[1][t[++r]]+=c+"":a?(s=e.apply(c,at(e,c,n,["",null])),o.push(s),c[0]?t[0]|=2:(t[r-2]=0,t[r]=s)):o.push(c)}return o},st=new Map;function it(e){var t=st.get(this);return t||(t=new Map,st.set(this,t)),(t=at(this,t.get(e)||(t.set(e,t=(function(n){for(var o,s,r=1,a="",c="",u=[0],_=function(p){r===1&&(p||(a=a.replace(/^\s*\n\s*|\s*\n\s*$/g,"")))?u.push(0,p,a):r===3&&(p||a)?(u.push(3,p,a),r=2):r===2&&a==="..."&&p?u.push(4,p,0):r===2&&a&&!p?u.push(5,0,!0,a):r>=5&&((a||!p&&r===5)&&(u.push(r,0,a,s),r=6),p&&(u.push(r,p,0,s),r=6)),a=""},d=0;d<n.length;d++){d&&(r===1&&_(),_(d));for(var l=0;l<n[d].length;l++)o=n[d][l],r===1?o==="<"?(_(),u=[u],r=3):a+=o:r===4?a==="--"&&o===">"?(r=1,a=""):a=o+a[0]:c?o===c?c="":a+=o:o==='"'||o==="'"?c=o:o===">"?(_(),r=1):r&&(o==="="?(r=5,s=a,a=""):o==="/"&&(r<5||n[d][l+1]===">")?(_(),r===3&&(u=u[0]),r=u,(u=u[0]).push(2,0,r),r=0):o===" "||o==="	"||o===`
`||o==="\r"?(_(),r=2):a+=o),r===3&&a==="!--"&&(r=4,u=u[0])}return _(),u})(e)),t),arguments,[])).length>1?t:t[0]}var i=it.bind(de);var ee,T,De,lt,te=0,$t=[],D=x,ct=D.__b,ut=D.__r,_t=D.diffed,pt=D.__c,dt=D.unmount,ft=D.__;function Pe(e,t){D.__h&&D.__h(T,e,te||t),te=0;var n=T.__H||(T.__H={__:[],__h:[]});return e>=n.__.length&&n.__.push({}),n.__[e]}function A(e){return te=1,vn(bt,e)}function vn(e,t,n){var o=Pe(ee++,2);if(o.t=e,!o.__c&&(o.__=[n?n(t):bt(void 0,t),function(c){var u=o.__N?o.__N[0]:o.__[0],_=o.t(u,c);u!==_&&(o.__N=[_,o.__[1]],o.__c.setState({}))}],o.__c=T,!T.__f)){var s=function(c,u,_){if(!o.__c.__H)return!0;var d=o.__c.__H.__.filter(function(p){return!!p.__c});if(d.every(function(p){return!p.__N}))return!r||r.call(this,c,u,_);var l=o.__c.props!==c;return d.forEach(function(p){if(p.__N){var f=p.__[0];p.__=p.__N,p.__N=void 0,f!==p.__[0]&&(l=!0)}}),r&&r.call(this,c,u,_)||l};T.__f=!0;var r=T.shouldComponentUpdate,a=T.componentWillUpdate;T.componentWillUpdate=function(c,u,_){if(this.__e){var d=r;r=void 0,s(c,u,_),r=d}a&&a.call(this,c,u,_)},T.shouldComponentUpdate=s}return o.__N||o.__}function R(e,t){var n=Pe(ee++,3);!D.__s&&gt(n.__H,t)&&(n.__=e,n.u=t,T.__H.__h.push(n))}function W(e){return te=5,ht(function(){return{current:e}},[])}function ht(e,t){var n=Pe(ee++,7);return gt(n.__H,t)&&(n.__=e(),n.__H=t,n.__h=e),n.__}function vt(e,t){return te=8,ht(function(){return e},t)}function gn(){for(var e;e=$t.shift();)if(e.__P&&e.__H)try{e.__H.__h.forEach(me),e.__H.__h.forEach(Ce),e.__H.__h=[]}catch(t){e.__H.__h=[],D.__e(t,e.__v)}}D.__b=function(e){T=null,ct&&ct(e)},D.__=function(e,t){e&&t.__k&&t.__k.__m&&(e.__m=t.__k.__m),ft&&ft(e,t)},D.__r=function(e){ut&&ut(e),ee=0;var t=(T=e.__c).__H;t&&(De===T?(t.__h=[],T.__h=[],t.__.forEach(function(n){n.__N&&(n.__=n.__N),n.u=n.__N=void 0})):(t.__h.forEach(me),t.__h.forEach(Ce),t.__h=[],ee=0)),De=T},D.diffed=function(e){_t&&_t(e);var t=e.__c;t&&t.__H&&(t.__H.__h.length&&($t.push(t)!==1&&lt===D.requestAnimationFrame||((lt=D.requestAnimationFrame)||bn)(gn)),t.__H.__.forEach(function(n){n.u&&(n.__H=n.u),n.u=void 0})),De=T=null},D.__c=function(e,t){t.some(function(n){try{n.__h.forEach(me),n.__h=n.__h.filter(function(o){return!o.__||Ce(o)})}catch(o){t.some(function(s){s.__h&&(s.__h=[])}),t=[],D.__e(o,n.__v)}}),pt&&pt(e,t)},D.unmount=function(e){dt&&dt(e);var t,n=e.__c;n&&n.__H&&(n.__H.__.forEach(function(o){try{me(o)}catch(s){t=s}}),n.__H=void 0,t&&D.__e(t,n.__v))};var mt=typeof requestAnimationFrame=="function";function bn(e){var t,n=function(){clearTimeout(o),mt&&cancelAnimationFrame(t),setTimeout(e)},o=setTimeout(n,35);mt&&(t=requestAnimationFrame(n))}function me(e){var t=T,n=e.__c;typeof n=="function"&&(e.__c=void 0,n()),T=t}function Ce(e){var t=T;e.__c=e.__(),T=t}function gt(e,t){return!e||e.length!==t.length||t.some(function(n,o){return n!==e[o]})}function bt(e,t){return typeof t=="function"?t(e):t}var $="../evenkeel/v1",Oe="evenkeel-authorization",J=class extends Error{constructor(t,n,o=[]){super(n),this.status=t,this.roles=o}},yt=0,ne=()=>Date.now()+yt,oe=JSON.parse(sessionStorage.getItem(Oe)||"{}");function wt(e){oe=e,sessionStorage.setItem(Oe,JSON.stringify(e))}function kt(){oe={},sessionStorage.removeItem(Oe)}function Re(){return Object.keys(oe).length>0}function xt(e,t){let n=new TextEncoder().encode(`${e}:${t}`);return{Authorization:`Basic ${btoa(String.fromCharCode(...n))}`}}function St(e){return{"X-Auth-Token":e}}async function Ne(e,t,n,o=15e3){let s={Accept:"application/json",...oe};n!==void 0&&(s["Content-Type"]="application/json");let r;try{r=await fetch(t,{method:e,headers:s,body:n===void 0?void 0:JSON.stringify(n),credentials:"omit",cache:"no-store",signal:AbortSignal.timeout(o)})}catch(u){throw new J(0,`no answer from this controller: ${u.message}`)}yn(r);let a=await r.text(),c=a?Ct(a):null;if(!r.ok)throw Tt(r,c);return c}function yn(e){let t=Date.parse(e.headers.get("Date")||"");t&&Math.abs(t+500-ne())>1e3&&(yt=t+500-Date.now())}async function Et(e,t,{told:n,at:o,signal:s,silentMs:r}){let a=new AbortController,c=()=>a.abort();s.addEventListener("abort",c);let u=setTimeout(c,r);try{let _=await fetch(e,{headers:{Accept:"text/event-stream","Last-Event-ID":String(t),...oe},credentials:"omit",cache:"no-store",signal:a.signal});if(!_.ok)throw Tt(_,Ct(await _.text()));let d=_.body.pipeThrough(new TextDecoderStream).getReader(),l="";for(;;){let{done:p,value:f}=await d.read();if(p)return;clearTimeout(u),u=setTimeout(c,r);let m=(l+f).split(`

`);l=m.pop();let S=[];for(let b of m)for(let h of b.split(`
`))h.startsWith("id: ")&&o(Number(h.slice(4))),h.startsWith("data: ")&&S.push(JSON.parse(h.slice(6)));n(S)}}catch(_){throw _ instanceof J?_:new J(0,`no answer from this controller: ${_.message}`)}finally{clearTimeout(u),s.removeEventListener("abort",c),a.abort()}}function Tt(e,t){let n=(e.headers.get("X-Needs-Role")||"").split(", ").filter(Boolean);return new J(e.status,wn(t)||`HTTP ${e.status}`,n)}var B=e=>e.catch(t=>{if(t.status!==403)throw t;return{refused:t}}),At=(e,t,n)=>Ne("POST",e,t,n),v=e=>Ne("GET",e),Dt=(e,t)=>Ne("PUT",e,t);function Ct(e){try{return JSON.parse(e)}catch{return null}}function wn(e){return e&&(e.faultstring||e.reason||e.error&&e.error.message||e.detail)}var Ot=new URLSearchParams(location.search).get("demo"),kn="../demo/controls",xn=2e3;async function Pt(e){let t=await fetch(kn,{method:e?"POST":"GET",headers:{"X-Demo-Token":Ot,"Content-Type":"application/json"},body:e&&JSON.stringify(e),cache:"no-store"}),n=await t.json();if(!t.ok)throw new Error(n.reason||`HTTP ${t.status}`);return n}function Rt(){let[e,t]=A(null),[n,o]=A(""),[s,r]=A("");if(R(()=>{if(!Ot)return;let u=()=>Pt().then(t,()=>t(null));u();let _=setInterval(()=>document.hidden||u(),xn);return()=>clearInterval(_)},[]),!e)return null;let a=n||e.agents[0].host,c=(u,_)=>i`<button
      type="button"
      disabled=${!e.offered}
      onClick=${()=>Pt({action:_,host:a}).then(d=>(t(d),r("")),d=>r(d.message))}
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
    ${c("Kill it","kill")} ${c("Freeze it","freeze")} ${c("Cut the device off","cut")} ${c("Heal everything","heal")}
    <span role="status">${s||(e.offered?`Device: ${e.device}`:"It tells its story first; the buttons come at its end.")}</span>
  </section>`}var Sn=1e4,En=2e3,Tn=200,An=100,Dn=4e4,Nt=[1e3,1e3,2e3,5e3];function Lt(){let[e,t]=A({events:[],error:null,newest:0,connected:!1});return R(()=>{let n=new AbortController,o=null,s=()=>document.hidden&&o&&o.abort();document.addEventListener("visibilitychange",s),n.signal.addEventListener("abort",()=>{document.removeEventListener("visibilitychange",s),o&&o.abort()});let r=null,a=0,c=_=>{a=0,t(d=>Pn(d,_))};async function u(){for(;!n.signal.aborted;){if(await Cn(),n.signal.aborted)return;o=new AbortController;try{if(r===null){let _=(await v(`${$}/events?limit=${An}&newest=true`)).events;r=_.length?_[0].id-1:0,c(_)}await Et(`${$}/events`,r,{told:c,at:_=>r=_,signal:o.signal,silentMs:Dn})}catch(_){if(n.signal.aborted)return;if(o.signal.aborted)continue;if(t(d=>({...d,error:_,connected:!1})),_.status===401||_.status===403)return}await new Promise(_=>setTimeout(_,Nt[Math.min(a++,Nt.length-1)]))}}return u(),()=>n.abort()},[]),e}function Cn(){return document.hidden?new Promise(e=>document.addEventListener("visibilitychange",e,{once:!0})):Promise.resolve()}function Pn(e,t){let n=new Set(e.events.map(r=>r.id)),o=t.filter(r=>!n.has(r.id));return!o.length&&e.connected&&!e.error?e:{events:[...o,...e.events].sort((r,a)=>a.id-r.id).slice(0,Tn),error:null,connected:!0,newest:e.newest+o.length}}function E(e,t,n=[]){let[o,s]=A({data:null,error:null,at:0}),r=W(0),a=W(0),c=vt(async()=>{let u=++r.current;a.current=Date.now();try{let _=await e();u===r.current&&s({data:_,error:null,at:ne()})}catch(_){u===r.current&&s(d=>({...d,error:_}))}},n);return R(()=>(a.current=0,()=>{r.current+=1}),[c]),R(()=>{let u=setTimeout(c,Math.max(0,a.current+En-Date.now())),_=setInterval(()=>document.hidden||c(),Sn);return()=>{clearTimeout(u),clearInterval(_)}},[c,t]),{...o,again:c}}var On=new Set(["ACTIVE","ONLINE","up","connected","reached","served","closed"]),Rn=new Set(["ERROR","OFFLINE","silent","forced_down","unserved","halted","out of reach","failed"]);function g({value:e}){let t=On.has(e)?"good":Rn.has(e)?"bad":"other",n={good:"●",bad:"▲",other:"◌"}[t];return i`<span class="status ${t}"><span aria-hidden="true">${n}</span> ${e}</span>`}var C=e=>e&&/^([0-9a-f]{8}-|[0-9a-f]{32}$)/.test(e)?e.slice(0,8):e;function V(e){if(!e)return"";let t=Math.max(0,(ne()-Date.parse(e.endsWith("Z")?e:`${e}Z`))/1e3);return t<120?`${Math.round(t)} s`:t<7200?`${Math.round(t/60)} min`:t<172800?`${Math.round(t/3600)} h`:`${Math.round(t/86400)} d`}var It=e=>`${Math.max(0,e/1e3).toFixed(1)} s`,re=e=>e.replace("T"," ").slice(0,19);function I(e){for(let[t,n]of[["G",1e9],["M",1e6],["k",1e3]])if(e>=n)return`${(e/n).toPrecision(3)} ${t}`;return e>0&&e<.001?"< 0.001":e>=10||Number.isInteger(e)?String(Math.round(e)):e.toPrecision(2)}function K({facts:e}){return i`<dl class="facts">
    ${e.filter(([,t])=>t!=="").map(([t,n])=>i`<div><dt>${t}</dt><dd>${n}</dd></div>`)}
  </dl>`}function w({command:e,path:t,method:n="GET"}){return i`<p class="also">
    The same: <code>${e}</code>${t&&i` · <code>${n} ${t.replace(/^\.\./,"")}</code>`}
  </p>`}function k({error:e,loading:t}){return e&&e.status===403?i`<${se} error=${e} />`:e?i`<p class="failure" role="alert">${e.message}</p>`:t&&i`<p>Loading…</p>`}function se({error:e}){return i`<p class="empty">${e.roles.length?`Needs the role ${e.roles.join(" or ")}.`:e.message}</p>`}function O({caption:e,columns:t,rows:n,empty:o}){return n?n.length?i`<div class="scroll" tabindex="0" role="region" aria-label=${e}>
    <table>
      <caption>
        ${e}
      </caption>
      <thead>
        <tr>
          ${t.map(([s])=>i`<th scope="col">${s}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${n.map(s=>i`<tr key=${s.id||s.name}>${t.map(([,r])=>i`<td>${r(s)}</td>`)}</tr>`)}
      </tbody>
    </table>
  </div>`:i`<p class="empty">${o}</p>`:null}function ae({label:e,about:t,question:n,path:o,body:s,command:r,done:a,send:c=Dt}){let[u,_]=A(!1),[d,l]=A(null),p=W(null);R(()=>{u&&p.current.showModal()},[u]);async function f(){try{await c(o,s),l(null),_(!1),a()}catch(m){l(m)}}return i`<button type="button" onClick=${()=>_(!0)} aria-label=${t?`${e} ${t}`:null}>${e}</button>
    ${u&&i`<dialog ref=${p} onClose=${()=>_(!1)} aria-label=${t?`${e} ${t}`:e}>
      <p>${n}</p>
      ${r&&i`<p class="also">The same: <code>${r}</code></p>`}
      <${k} error=${d} />
      <button type="button" class="confirm" onClick=${f}>${e}</button>
      <button type="button" onClick=${()=>_(!1)}>Cancel</button>
    </dialog>`}`}var $e=50,Mt=e=>`${e.environment}/${e.group_number}`,Ht=e=>`${e.devices.filter(t=>t.reachable).length} of ${e.devices.length}`;function Ft({live:e}){let{data:t,error:n,at:o,again:s}=E(async()=>(await v(`${$}/agents`)).agents,e.newest);return i`<h1>Agents</h1>
    <${k} error=${n} loading=${!t} />
    <${O} caption="Agents" columns=${[["Host",a=>i`<a href="#/agents/${a.id}">${a.host}</a>`],["Device group",Mt],["State",a=>i`<${g} value=${a.state} />`],["Lease",a=>jt(a,o)],["Last report",a=>V(a.reported_at)],["Shards",a=>a.acting_shards],["At home",a=>a.home_shards],["Queue",a=>a.queue_depth],["Devices in reach",Ht],["Why not",a=>a.waiting_reason||a.away_reason],["Action",a=>i`<${Ut} agent=${a} done=${s} />`]]} rows=${t} empty="No agent has registered yet. evenkeel-agent on a host that reaches the devices does." />
    <${w} command="evenkeel agent list" path="${$}/agents" />`}function jt(e,t){return e.alive&&e.session_expires_at?`${It(Date.parse(`${e.session_expires_at}Z`)-t)} left`:e.silent_since?`silent for ${V(e.silent_since)}`:"none"}function Ut({agent:e,done:t}){let n=e.admin_state_up;return i`<${ae}
    label=${n?"Drain":"Undrain"}
    about=${e.host}
    question=${n?`Drain ${e.host}? Its ${e.acting_shards} shards are handed over to other agents, and it gets no new ones.`:`Put ${e.host} back into service? Its shards come home.`}
    path="${$}/agents/${e.id}/${n?"drain":"undrain"}"
    command="evenkeel agent ${n?"drain":"undrain"} ${e.host}"
    done=${t}
  />`}function qt({id:e,live:t}){async function n(){let[u,_,d]=await Promise.all([v(`${$}/agents/${e}`),v(`${$}/shards?agent_id=${e}`),B(v(`${$}/agents/${e}/loadbalancers?limit=${$e}`))]);return{agent:u.agent,shards:_.shards.filter(l=>l.project_id),balancers:d}}let{data:o,error:s,at:r,again:a}=E(n,t.newest,[e]),c=o&&o.agent;return i`<p><a href="#/agents">All agents</a></p>
    <h1>${c?c.host:C(e)}</h1>
    <${k} error=${s} loading=${!o} />
    ${c&&i`<${K}
        facts=${[["State",i`<${g} value=${c.state} />`],["Device group",Mt(c)],["Lease",jt(c,r)],["Last report",V(c.reported_at)],["Shards that it acts for",c.acting_shards],["Shards whose home it is",c.home_shards],["Queue",c.queue_depth],["Devices in reach",Ht(c)],["Why shards wait",c.waiting_reason||c.away_reason],["Device driver",c.device_driver]]}
      />
      <p class="actions"><${Ut} agent=${c} done=${a} />
      ${c.away_shards>0&&i`<${ae}
        label="Fail back"
        about=${c.host}
        question="Hand the ${c.away_shards} shards whose home is ${c.host} back to it?"
        path="${$}/agents/${e}/failback"
        command="evenkeel agent failback ${c.host}"
        done=${a}
      />`}</p>
      <h2>Devices as it sees them</h2>
      <${O}
        caption="Devices"
        columns=${[["Device",u=>u.own_name||u.name],["Address",u=>u.name],["Reached",u=>i`<${g} value=${u.reachable?"reached":"out of reach"} />`],["Failover",u=>u.failover_state],["Config sync",u=>u.sync_state],["Version",u=>u.version],["Problem",u=>u.problem]]}
        rows=${c.devices}
        empty="It has not reported a device yet."
      />
      <h2>Shards</h2>
      <${O}
        caption="Shards"
        columns=${[["Tenant",u=>i`<span title=${u.project_id}>${C(u.project_id)}</span>`],["Epoch",u=>u.epoch],["It is",u=>Nn(u,e)],["Served",u=>i`<${g} value=${u.served?"served":"unserved"} />`]]}
        rows=${o.shards.slice(0,$e)}
        empty="It has no tenant."
      />
      ${o.shards.length>$e&&i`<p>${o.shards.length-$e} more: <code>evenkeel shard list --agent ${c.host}</code></p>`}
      <h2>Load balancers</h2>
      <${k} error=${o.balancers.refused} />
      <${O}
        caption="Load balancers"
        columns=${[["Name",u=>i`<a href="#/loadbalancers/${u.id}">${u.name||C(u.id)}</a>`],["VIP",u=>u.vip_address],["Provisioning",u=>i`<${g} value=${u.provisioning_status} />`],["Operating",u=>i`<${g} value=${u.operating_status} />`]]}
        rows=${o.balancers.loadbalancers}
        empty="None."
      />`}
    <${w} command="evenkeel agent show ${c?c.host:e}" path="${$}/agents/${e}" />`}function Nn(e,t){let n=[];return e.acting_agent_id===t&&n.push("acting agent"),e.home_agent_id===t&&n.push("home"),n.join(", ")}var Ln=async()=>(await v(`${$}/topology`)).topology;function Wt({live:e}){let{data:t,error:n}=E(Ln,e.newest),o=t&&t.groups.flatMap(r=>r.devices.map(a=>({...a,id:`${r.environment}/${r.group_number}/${a.name}`,group:r})));return i`<h1>Devices</h1>
    <p>What agents say of the devices of their group: of several the one that reaches it.</p>
    <${k} error=${n} loading=${!t} />
    <${O} caption="Devices" columns=${[["Device",r=>r.own_name||r.name],["Address",r=>r.name],["Device group",r=>`${r.group.environment}/${r.group.group_number}`],["Type",r=>r.group.device_driver],["State",r=>i`<${g} value=${r.reachable?"reached":"out of reach"} />`],["Failover",r=>r.failover_state],["Config sync",r=>r.sync_state],["Version",r=>r.version],["Reached by",r=>r.reached_by.join(", ")],["Not reached by",r=>r.missed_by.join(", ")],["Problem",r=>r.problem]]} rows=${o} empty="No agent has reported a device yet." />
    <${w} command="evenkeel device list" path="${$}/topology" />`}function Bt({live:e}){let{data:t,error:n}=E(async()=>(await v(`${$}/controllers`)).controllers,e.newest);return i`<h1>Controllers</h1>
    <p>They are all alike and keep nothing: any of them may end. A silent one is listed for ten minutes.</p>
    <${k} error=${n} loading=${!t} />
    <${O} caption="Controllers" columns=${[["URL",s=>s.url],["Host",s=>s.host],["State",s=>i`<${g} value=${s.alive?"up":"silent"} />`],["Message broker",s=>i`<${g} value=${s.message_broker==="connected"?"connected":"out of reach"} /> ${s.message_broker==="connected"?"":s.message_broker}`],["Version",s=>s.version],["Up for",s=>s.alive?V(s.started_at):""],["Seen",s=>`${V(s.seen_at)} ago`]]} rows=${t} empty="None has been seen yet." />
    <${w} command="evenkeel controller list" path="${$}/controllers" />`}function Vt({live:e}){let{data:t,error:n,again:o}=E(async()=>(await v(`${$}/environments`)).environments,e.newest);return i`<h1>Environments</h1>
    <${k} error=${n} loading=${!t} />
    <${O} caption="Environments" columns=${[["Name",r=>r.name],["Device driver",r=>r.device_driver],["Failback",r=>r.failback],["Circuit breaker",r=>r.halted?i`<${g} value="halted" /> ${r.halted}`:i`<${g} value="closed" />`],["Opens at",r=>`${r.breaker_agents} agents and ${Math.round(r.breaker_share*100)} % silent`],["Action",r=>r.halted&&i`<${In} row=${r} done=${o} />`]]} rows=${t} empty="There is no environment yet." />
    <${w} command="evenkeel environment list" path="${$}/environments" />`}function In({row:e,done:t}){return i`<${ae}
    label="Resume"
    about=${e.name}
    command="evenkeel environment resume ${e.name}"
    question="Are the silent agents of ${e.name} lost for good? Their shards move to others."
    path="${$}/environments/${e.name}/resume"
    done=${t}
  />`}function Mn({request_id:e,client_address:t}){return e?`from ${t}, ${e}`:null}function Le({events:e}){return e.length?i`<ol class="events">
    ${e.map(t=>i`<li key=${t.id}>
        <time>${t.at.replace("T"," ").slice(0,19)}</time>${" "}<span class="kind">${t.kind}</span>${" "}
        <span title=${Mn(t)}>${t.load_balancer_id?i`<a href="#/loadbalancers/${t.load_balancer_id}">${t.text}</a>`:t.text}</span>
      </li>`)}
  </ol>`:i`<p>No events yet.</p>`}function Ie({live:e,most:t}){return e.error&&e.error.status===403?i`<${se} error=${e.error} />`:i`<${Le} events=${t?e.events.slice(0,t):e.events} />`}function Kt({live:e}){return i`<h1>Events</h1>
    <p>New ones appear at the top, times are UTC.</p>
    <div aria-live="polite"><${Ie} live=${e} /></div>
    <${w} command="evenkeel events --follow" path="${$}/events?newest=true" />`}var F="../v2/lbaas",Gt=50,Hn=/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,Fn=/^[0-9.]{7,15}$|:/;function jn(e,t){let n=new URLSearchParams({limit:Gt});if(t){let o=e==="any"?Hn.test(t)?"id":Fn.test(t)?"vip_address":"name":e;n.set(o,t)}return n}function zt({live:e}){let[t,n]=A(""),[o,s]=A("any"),[r,a]=A(""),c=jn(o,t.trim());r&&c.set("provisioning_status",r);let u=`${F}/loadbalancers?${c}`,{data:_,error:d}=E(async()=>(await v(u)).loadbalancers,e.newest,[u]),l=[["Name",p=>i`<a href="#/loadbalancers/${p.id}">${p.name||C(p.id)}</a>`],["VIP",p=>p.vip_address],["Provisioning",p=>i`<${g} value=${p.provisioning_status} />`],["Operating",p=>i`<${g} value=${p.operating_status} />`],["Project",p=>i`<span title=${p.project_id}>${C(p.project_id)}</span>`],["Environment",p=>p.provider],["Reason",p=>p.status_reason||p.operating_reason]];return i`<h1>Load balancers</h1>
    <form class="search" role="search" onSubmit=${p=>p.preventDefault()}>
      <label>Search <input type="search" value=${t} onInput=${p=>n(p.target.value)} placeholder="name, VIP or id" /></label>
      <label
        >by
        <select value=${o} onChange=${p=>s(p.target.value)}>
          <option value="any">name, VIP or id</option>
          <option value="project_id">project</option>
        </select></label
      >
      <label
        >Status
        <select value=${r} onChange=${p=>a(p.target.value)}>
          <option value="">any</option>
          ${["ERROR","PENDING_CREATE","PENDING_UPDATE","PENDING_DELETE","ACTIVE"].map(p=>i`<option>${p}</option>`)}
        </select></label
      >
    </form>
    <${k} error=${d} loading=${!_} />
    <${O} caption="Load balancers (at most ${Gt})" columns=${l} rows=${_} empty="None is like that." />
    <${w} command="evenkeel loadbalancer list" path=${u} />`}var Me={listener:["listener","listener","listener",e=>`listeners/${e}`],pool:["pool","pool","pool",e=>`pools/${e}`],member:["member","member","member",(e,t)=>`pools/${t}/members/${e}`],healthmonitor:["health monitor","healthmonitor","healthmonitor",e=>`healthmonitors/${e}`],l7policy:["L7 policy","l7policy","l7policy",e=>`l7policies/${e}`],rule:["L7 rule","rule","l7rule",(e,t)=>`l7policies/${t}/rules/${e}`]},He={listeners:"listener",pools:"pool",members:"member",l7policies:"l7policy",rules:"rule"},Xt=new Set(["member","rule"]),Un=new Set(["provisioning_status","operating_status"]),Fe=(e,t,n,o)=>`#/loadbalancers/${e}/${t}/${n}${Xt.has(t)?`/${o}`:""}`;function Qt(e){let t=new Map(e.pools.map(s=>[s.id,s])),n=new Set,o=e.listeners.map(s=>{let r=new Set([s.default_pool_id,...s.l7policies.map(a=>a.redirect_pool_id)]);for(let a of r)n.add(a);return{...s,pools:[...r].filter(a=>t.has(a)).map(a=>t.get(a))}});return{...e,listeners:o,pools:e.pools.filter(s=>!n.has(s.id))}}function je({node:e,kind:t,root:n,parent:o}){let s=Object.entries(He).flatMap(([c,u])=>(e[c]||[]).map(_=>[u,_]));e.health_monitor&&s.push(["healthmonitor",e.health_monitor]);let r=e.address?` ${e.address}:${e.protocol_port}`:"",a=e.name||e.type||C(e.id);return i`<ul class="tree">
    <li>
      <span class="kind">${t?Me[t][0]:"load balancer"}</span>${" "}
      ${t?i`<a href=${Fe(n,t,e.id,o)}>${a}${r}</a>`:a}${" "}
      <${g} value=${e.provisioning_status} />${e.status_reason&&` ${e.status_reason}`}${e.operating_status&&i` <${g} value=${e.operating_status} />`}
      ${s.map(([c,u])=>i`<${je} node=${u} kind=${c} root=${n} parent=${e.id} />`)}
    </li>
  </ul>`}function Yt({root:e,kind:t,id:n,parent:o,live:s}){let[r,a,c,u]=Me[t]||Me.listener,{data:_,error:d}=E(async()=>(await v(`${F}/${u(n,o)}`))[a],s.newest,[t,n,o]);return i`<p><a href="#/loadbalancers/${e}">The load balancer</a></p>
    <h1>${r} ${_?_.name||C(n):C(n)}</h1>
    <${k} error=${d} loading=${!_} />
    ${_&&i`<${K} facts=${Object.entries(_).map(([l,p])=>[l,qn(l,p,e,n,_)])} />`}
    <${w}
      command="openstack loadbalancer ${c} show ${Xt.has(t)?`${o} `:""}${n}"
      path="${F}/${u(n,o)}"
    />`}var Jt={default_pool_id:"pool",redirect_pool_id:"pool",healthmonitor_id:"healthmonitor",listener_id:"listener",pool_id:"pool"};function qn(e,t,n,o){return Un.has(e)?i`<${g} value=${t} />`:t==null||t===""?"–":Jt[e]?i`<a href=${Fe(n,Jt[e],t,o)}>${C(t)}</a>`:Array.isArray(t)&&He[e]&&t.every(s=>s&&s.id)?t.length?t.map(s=>i`<a href=${Fe(n,He[e],s.id,o)}>${C(s.id)}</a>${" "}`):"none":typeof t=="object"?JSON.stringify(t)==="[]"?"none":i`<code>${JSON.stringify(t)}</code>`:String(t)}var Zt=240,Ue=60,en=3;function Wn({title:e,figures:t,points:n}){let o=Object.keys(t),s=l=>n.map((p,f)=>[f,p[l]]).filter(([,p])=>p!=null),r=o.map(l=>[l,s(l)]);if(!r.some(([,l])=>l.length))return null;let a=Math.max(1e-9,...r.flatMap(([,l])=>l.map(([,p])=>p))),c=l=>(l*Zt/Math.max(1,n.length-1)).toFixed(1),u=l=>(Ue-2-l/a*(Ue-6)).toFixed(1),_=l=>l.length>1?l.map(([p,f])=>`${c(p)},${u(f)}`).join(" "):`${c(l[0][0])-en},${u(l[0][1])} ${+c(l[0][0])+en},${u(l[0][1])}`,d=r.filter(([,l])=>l.length).map(([l,p])=>`${t[l]&&`${t[l]} `}${I(p[p.length-1][1])}`).join(" ");return i`<figure class="chart">
    <figcaption>${e} <strong>${d}</strong></figcaption>
    <svg viewBox="0 0 ${Zt} ${Ue}" role="img" aria-label="${e}, last ${d}, at most ${I(a)}" preserveAspectRatio="none">
      ${r.flatMap(([,l],p)=>Bn(l).map(f=>i`<polyline class="series-${p}" points=${_(f)} />`))}
    </svg>
  </figure>`}function Bn(e){let t=[];for(let n of e){let o=t[t.length-1];o&&o[o.length-1][0]===n[0]-1?o.push(n):t.push([n])}return t}var he=({lines:e,points:t})=>i`<div class="charts">${e.map(([n,o])=>i`<${Wn} key=${n} title=${n} figures=${o} points=${t} />`)}</div>`;var qe=[["Connections per second",{connections:""}],["Open connections",{active_connections:""}],["Bytes per second",{bytes_in:"in",bytes_out:"out"}],["Errors per second",{request_errors:""}]],Vn=[...qe,["Members online",{members_online:"",members:"of"}]];function tn({id:e,turn:t}){let n=`${$}/loadbalancers/${e}/series`,{data:o,error:s}=E(()=>v(n),t,[e]);if(s&&s.status===403)return i`<h2>Traffic</h2><${se} error=${s} />`;if(!o||!o.points||o.points.length<2)return null;let r=o.points[0].at.slice(11,16);return i`<h2>Traffic since ${r} UTC</h2>
    <${he} lines=${Vn} points=${o.points} />
    <${w} command="evenkeel loadbalancer series ${e}" path=${n} />`}function nn({id:e,live:t}){async function n(){let[r,a,c,u,_]=await Promise.all([v(`${F}/loadbalancers/${e}`),B(v(`${$}/loadbalancers/${e}/tree`)),B(v(`${$}/loadbalancers/${e}/agent`)),B(v(`${$}/loadbalancers/${e}/history`)),B(v(`${$}/events?object_id=${e}&newest=true&limit=20`))]);return{root:r.loadbalancer,tree:a.refused?a:Qt(a.tree),hosting:c.refused?c:c.hosting,history:u,events:_.refused?_:_.events.slice().reverse()}}let{data:o,error:s}=E(n,t.newest,[e]);return i`<p><a href="#/loadbalancers">All load balancers</a></p>
    <h1>${o?o.root.name||C(e):C(e)}</h1>
    <${k} error=${s} loading=${!o} />
    ${o&&i`<${Kn} data=${o} />
      <${tn} id=${e} turn=${o.hosting.applied_revision} />
      <h2>Objects</h2>
      ${o.tree.refused?i`<${k} error=${o.tree.refused} />`:i`<${je} node=${o.tree} root=${e} />`}
      <${w} command="evenkeel loadbalancer tree ${e}" path="${$}/loadbalancers/${e}/tree" />
      <${Jn} id=${e} />
      <${Qn} history=${o.history} id=${e} />
      <h2>Events</h2>
      ${o.events.refused?i`<${k} error=${o.events.refused} />`:i`<${Le} events=${o.events} />`}`}
    <${w} command="evenkeel explain ${e}" path="${$}/loadbalancers/${e}/agent" />`}function Kn({data:{root:e,hosting:t}}){if(t.refused)return i`<${Gn} root=${e} /><${k} error=${t.refused} />`;let n=t.revision-t.applied_revision;return i`<${K}
    facts=${[["VIP",e.vip_address],["Project",e.project_id],["Provisioning",i`<${g} value=${t.provisioning_status} /> ${t.status_reason}`],["Operating",i`<${g} value=${t.operating_status} /> ${t.operating_reason}`],["Desired revision",t.revision],["On the devices",`${t.applied_revision}${n?` (${n} behind)`:" (the same)"}`],["Written by",t.acting?i`<a href="#/agents/${t.acting.id}">${t.acting.host}</a>, epoch ${t.shard.epoch}`:"no agent"],["Home",t.home?i`<a href="#/agents/${t.home.id}">${t.home.host}</a>`:"none"],["Before it in line",t.ahead]]}
  />`}function Gn({root:e}){return i`<${K}
    facts=${[["VIP",e.vip_address],["Project",e.project_id],["Provisioning",i`<${g} value=${e.provisioning_status} /> ${e.status_reason}`],["Operating",i`<${g} value=${e.operating_status} />`]]}
  />`}var zn=3e4;function Jn({id:e}){let[t,n]=A({plan:null,error:null,asking:!1});async function o(){n({plan:null,error:null,asking:!0});try{n({plan:(await At(`${$}/loadbalancers/${e}/plan`,void 0,zn)).plan,error:null,asking:!1})}catch(s){n({plan:null,error:s,asking:!1})}}return i`<section aria-labelledby="difference">
    <h2 id="difference">Desired and observed</h2>
    <p><button type="button" onClick=${o} disabled=${t.asking}>Compare with the devices</button>${" "}
      Its agent reads the devices and says what its next pass would change. Nothing is changed.</p>
    <div aria-live="polite">
      ${t.asking&&i`<p>Asking the agent…</p>`}
      <${k} error=${t.error} />
      ${t.plan&&t.plan.devices.map(s=>i`<${Xn} key=${s.device} device=${s} host=${t.plan.host} />`)}
    </div>
    <${w} command="evenkeel plan ${e}" path="${$}/loadbalancers/${e}/plan" method="POST" />
  </section>`}function Xn({device:e,host:t}){let n=e.operations.flatMap((s,r)=>(s.attributes.length?s.attributes:[{name:"",present:"",wanted:""}]).map((c,u)=>({id:`${r}.${u}`,step:s,attribute:c}))),o=[["Would",({step:s})=>s.verb],["Object",({step:s})=>i`${s.type} <strong>${s.name}</strong>${s.note&&` (${s.note})`}`],["Attribute",({attribute:s})=>s.name],["Observed",({attribute:s})=>s.present],["Desired",({attribute:s})=>s.wanted]];return i`<h3>${e.device}, read by ${t}</h3>
    ${e.problem&&i`<p class="failure">${e.problem}</p>`}
    ${!n.length&&!e.problem?i`<p class="status good"><span aria-hidden="true">●</span> It holds what is desired: no difference.</p>`:i`<${O} caption="Differences on ${e.device}" columns=${o} rows=${n} empty="" />`}
    ${e.more>0&&i`<p>${e.more} more objects differ.</p>`}`}function Qn({history:e,id:t}){let n=[["Revision",o=>o.revision],["Accepted",o=>i`<time>${re(o.accepted_at)}</time>`],["By",o=>Yn(o)],["Request",o=>o.request_id?i`<code>${o.request_id}</code>`:""],["Applied",o=>o.applied_at?i`<time>${re(o.applied_at)}</time>`:o.problem?i`<${g} value="failed" /> ${o.problem}`:i`<${g} value="waiting" />`],["Seconds",o=>o.seconds===null?"":o.seconds.toFixed(2)],["By agent",o=>o.host?i`<a href="#/agents/${o.agent_id}">${o.host}</a>`:""],["Epoch",o=>o.epoch]];return i`<h2>History</h2>
    <${k} error=${e.refused} />
    <${O} caption="Revisions" columns=${n} rows=${e.history&&e.history.map(o=>({...o,id:o.revision}))} empty="No revision is known: it was made before revisions were kept." />
    <${w} command="evenkeel loadbalancer history ${t}" path="${$}/loadbalancers/${t}/history" />`}function Yn(e){return e.request_id?`${e.user||"anybody: no authentication"} ${e.project_id&&`(${C(e.project_id)})`}`:"the controllers (certificate or network)"}function on({reason:e,done:t}){let[n,o]=A("password");function s(r){r.preventDefault();let a=new FormData(r.target);wt(n==="password"?xt(a.get("name"),a.get("password")):St(a.get("token"))),t()}return i`<main class="login">
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
  </main>`}var rn=`${$}/activity`,Zn=[["Requests per second",{requests:"",failed_requests:"failed"}],["Seconds per request",{request_seconds:""}],["Changes that became ACTIVE",{changes:""}],["Seconds to ACTIVE",{time_to_active_seconds:""}]];function sn(){let{data:e,error:t}=E(async()=>(await v(rn)).activity,0);return i`<section aria-labelledby="activity">
    <h2 id="activity">Requests, time to ACTIVE and traffic</h2>
    <${k} error=${t} loading=${!e} />
    ${e&&i`<${eo} data=${e} />`}
    <${w} command="evenkeel activity" path=${rn} />
  </section>`}function eo({data:e}){let{requests:t,time_to_active:n,points:o}=e,s=o[o.length-1],r=[["Requests",I(t.count),`${I(t.failed)} failed`],["Time to answer",t.mean_seconds===null?"–":`${Math.round(t.mean_seconds*1e3)} ms`,"mean"],["Time to ACTIVE",n.count?`${I(n.median_seconds)} s`:"–",n.count?`median of ${I(n.count)}; 95 % within ${I(n.p95_seconds)} s`:"no change yet"],["Traffic",s&&s.connections!==null?`${I(s.connections)}/s`:"–",s?`new connections; load balancers observed: ${s.load_balancers}`:e.reason]];return i`<p class="live">Requests and times are those of the controller (of several workers: the one) that answered, since ${re(e.since)} UTC; traffic is that of all load balancers, the same on every controller.</p>
    <ul class="cards">
      ${r.map(([a,c,u])=>i`<li><span class="title">${a}</span> <span class="value">${c}</span><ul><li>${u}</li></ul></li>`)}
    </ul>
    ${o.length>1&&i`<${he} lines=${[...Zn,...qe]} points=${o} />`}`}function ln({live:e}){let{data:t,error:n}=E(async()=>(await v(`${$}/status`)).status,e.newest);return i`<h1>Overview</h1>
    <${k} error=${n} loading=${!t} />
    ${t&&i`<${to} problems=${t.problems} /><${no} status=${t} />`}
    <${w} command="evenkeel status" path="${$}/status" />
    <${sn} />
    <h2>Latest events</h2>
    <${Ie} live=${e} most=${8} />
    <${w} command="evenkeel events" path="${$}/events?newest=true" />`}function to({problems:e}){return e.length?i`<section class="problems" aria-label="Problems">
    <h2>${e.length} ${e.length===1?"problem":"problems"}</h2>
    <ul>
      ${e.map(t=>i`<li>
          <strong>${t.text}</strong>
          <span class="remedy">What helps: <code>${t.remedy}</code></span>
        </li>`)}
    </ul>
  </section>`:i`<p class="status good"><span aria-hidden="true">●</span> Nothing is wrong.</p>`}function an(e){return Object.entries(e).filter(([,t])=>t).map(([t,n])=>i`<li><${g} value=${t} /> ${n}</li>`)}function no({status:e}){let t=Object.values(e.load_balancers).reduce((s,r)=>s+r,0),n=e.load_balancers_operating??{},o=[["Load balancers",t,an(e.load_balancers),"#/loadbalancers"],["Operating ONLINE",n.ONLINE??"?",an(n),"#/loadbalancers"],["Agents up",e.agents.up,e.agents.down?i`<li>${e.agents.down} down</li>`:null,"#/agents"],["Shards",e.shards.total,e.shards.unserved?i`<li><${g} value="unserved" /> ${e.shards.unserved}</li>`:null,"#/topology"],["Oldest PENDING",`${e.oldest_pending_seconds} s`,null,"#/loadbalancers"],["Message broker",e.message_broker==="connected"?"connected":"away",null,"#/topology"]];return i`<ul class="cards">
    ${o.map(([s,r,a,c])=>i`<li>
        <a href=${c}><span class="title">${s}</span> <span class="value">${r}</span></a>
        <ul>
          ${a}
        </ul>
      </li>`)}
  </ul>`}var oo=34,P={controller:0,bus:180,agent:310,shard:540,device:740},j={controller:150,bus:100,agent:170,device:260},ro=P.device+j.device+2,so=async()=>(await v(`${$}/topology`)).topology;function un({live:e}){let{data:t,error:n}=E(so,e.newest);return i`<h1>Topology</h1>
    <p>A line is a shard: the agent that may write to the devices, with its epoch. At a takeover the line moves and the epoch grows.</p>
    <${k} error=${n} loading=${!t} />
    ${t&&!t.groups.length&&i`<p class="empty">No agent has registered yet.</p>`}
    ${t&&t.groups.map(o=>i`<${io} key="${o.environment}/${o.group_number}" group=${o} topology=${t} />`)}
    <${w} command="evenkeel shard list" path="${$}/topology" />`}function ao(e){if(e.shards.length)return e.shards.map(n=>({key:n.id,agent:n.acting_agent_id,text:`${C(n.project_id)} · epoch ${n.epoch}`,served:n.served}));let t=new Set(e.agents.filter(n=>n.alive).map(n=>n.id));return e.lines.map(n=>({key:n.agent_id||"none",agent:n.agent_id,text:`${n.shards} shards · epochs to ${n.newest_epoch}`,served:t.has(n.agent_id)}))}function io({group:e,topology:t}){let n=ao(e),{agents:o,devices:s}=e,{controllers:r}=t,c=Math.max(o.length,n.length,s.length,r.length,1)*oo+10,u=(m,S)=>(m+.5)*c/S,_=new Map(o.map((m,S)=>[m.id,u(S,o.length)])),d=c/2,l=t.message_broker==="connected",p=`${e.environment}/${e.group_number}`,f=n.map(m=>`${cn(o,m.agent)}: ${m.text}`).join("; ");return i`<figure class="topology">
    <figcaption><h2>${p}</h2>${e.halted&&i`<p class="failure">Halted: ${e.halted}. No shard moves.</p>`}</figcaption>
    <div class="scroll" tabindex="0" role="region" aria-label="Topology of ${p}">
    <svg viewBox="0 0 ${ro} ${c}" role="group" aria-label="Who may write to the devices of ${p}: ${f||"no shards"}">
      ${r.map((m,S)=>{let b=u(S,r.length);return i`<line class=${m.alive?"link":"link cut"} x1=${P.controller+j.controller} y1=${b} x2=${P.bus} y2=${d} />
          <${ve} x=${P.controller} at=${b} width=${j.controller} state=${m.alive?"up":"silent"} text="controller :${m.url.split(":").pop()}" />`})}
      ${o.map(m=>i`<line class=${m.alive?"link":"link cut"} x1=${P.bus+j.bus} y1=${d} x2=${P.agent} y2=${_.get(m.id)} />
          <a href="#/agents/${m.id}"><${ve} x=${P.agent} at=${_.get(m.id)} width=${j.agent} state=${m.state} text="${m.host} · ${m.state}" /></a>`)}
      <${ve} x=${P.bus} at=${d} width=${j.bus} state=${l?"up":"silent"} text="message bus" />
      ${n.map((m,S)=>{let b=u(S,n.length),h=_.get(m.agent),y=P.agent+j.agent;return i`${h!==void 0&&i`<path class="owner ${m.served?"":"cut"}" d="M${y} ${h} C ${y+40} ${h} ${P.shard-40} ${b} ${P.shard} ${b}" />`}
          <text class="shard" data-agent=${cn(o,m.agent)} x=${P.shard+6} y=${b+4}>${m.text}${h===void 0?" · no agent":""}</text>
          ${s.map((M,N)=>{let U=u(N,s.length);return i`<path class="reach" d="M${P.shard+155} ${b} C ${P.device-30} ${b} ${P.device-30} ${U} ${P.device} ${U}" />`})}`})}
      ${s.map((m,S)=>i`<${ve} x=${P.device} at=${u(S,s.length)} width=${j.device} state=${m.reachable?"up":"silent"} text="${m.own_name||m.name} · ${m.reachable?m.failover_state||"reached":"out of reach"}" />`)}
    </svg>
    </div>
  </figure>`}var lo=6.6;function ve({x:e,at:t,width:n,state:o,text:s}){let r=Math.floor((n-16)/lo);return i`<g class="box ${o}" transform="translate(${e} ${t-13})">
    <title>${s}</title>
    <rect width=${n} height="26" rx="5" />
    <text x="8" y="17">${s.length>r?`${s.slice(0,r-1)}…`:s}</text>
  </g>`}function cn(e,t){let n=e.find(o=>o.id===t);return n?n.host:"no agent"}var ge={"":["Overview",ln],topology:["Topology",un],loadbalancers:["Load balancers",zt],agents:["Agents",Ft],devices:["Devices",Wt],controllers:["Controllers",Bt],environments:["Environments",Vt],events:["Events",Kt]},co=[`${$}/events?limit=1&newest=true`,`${$}/activity`,`${F}/loadbalancers?limit=1&fields=id`];function uo(){let e=()=>location.hash.replace(/^#\/?/,"").split("/").map(decodeURIComponent),[t,n]=A(e);return R(()=>{let o=()=>n(e());return addEventListener("hashchange",o),()=>removeEventListener("hashchange",o)},[]),t}function _o(){let[e,t]=A({state:"asking",reason:""});async function n(){let o=null;for(let r of co)try{return await v(r),t({state:"in",reason:""})}catch(a){if(o=a,a.status!==403)break}let s=o.status===401||o.status===403;t({state:s?"out":"away",reason:Re()||!s?o.message:""})}return R(()=>{n()},[]),R(()=>{if(e.state!=="away")return;let o=setTimeout(n,2e3);return()=>clearTimeout(o)},[e]),e.state==="asking"?i`<main><p>Loading…</p></main>`:e.state==="out"?i`<${on} reason=${e.reason} done=${n} />`:e.state==="away"?i`<main><p class="failure" role="alert">${e.reason}</p></main>`:i`<${po}
    leave=${o=>{kt(),t({state:"out",reason:o})}}
  />`}function po({leave:e}){let t=Lt(),[n,o,s,r,a]=uo(),c=W(null),[u,_]=ge[n]||ge[""];R(()=>{document.title=`${u} · Even Keel`,c.current&&document.activeElement!==document.body&&c.current.focus()},[n,o,r]),R(()=>{t.error&&t.error.status===401&&e(t.error.message)},[t.error]);function d(){return n==="agents"&&o?i`<${qt} key=${o} id=${o} live=${t} />`:n!=="loadbalancers"||!o?i`<${_} key=${n} live=${t} />`:s?i`<${Yt} key=${r} root=${o} kind=${s} id=${r} parent=${a} live=${t} />`:i`<${nn} key=${o} id=${o} live=${t} />`}return i`<a class="skip" href="#main" onClick=${l=>(l.preventDefault(),c.current.focus())}>Skip to content</a>
    <header>
      <span class="brand">Even Keel</span>
      <nav aria-label="Views">
        ${Object.entries(ge).map(([l,[p]])=>i`<a href="#/${l}" aria-current=${l===(ge[n]?n:"")?"page":null}>${p}</a>`)}
      </nav>
      ${Re()&&i`<button type="button" onClick=${()=>e("")}>Log out</button>`}
    </header>
    <${Rt} />
    ${t.error&&t.error.status!==401&&t.error.status!==403&&i`<p class="failure banner" role="alert">${t.error.message}: trying again</p>`}
    <main id="main" tabindex="-1" ref=${c}>
      ${d()}
    </main>`}Ae(i`<${_o} />`,document.getElementById("app"));
