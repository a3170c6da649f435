var le,w,Be,nn,j,Fe,qe,Ve,Ge,be,$e,ge,on,X={},Ke=[],rn=/acit|ex(?:s|g|n|p|$)|rph|grid|ows|mnc|ntw|ine[ch]|zoo|^ord|itera/i,ce=Array.isArray;function M(e,t){for(var n in t)e[n]=t[n];return e}function ye(e){e&&e.parentNode&&e.parentNode.removeChild(e)}function ue(e,t,n){var o,a,r,s={};for(r in t)r=="key"?o=t[r]:r=="ref"?a=t[r]:s[r]=t[r];if(arguments.length>2&&(s.children=arguments.length>3?le.call(arguments,2):n),typeof e=="function"&&e.defaultProps!=null)for(r in e.defaultProps)s[r]===void 0&&(s[r]=e.defaultProps[r]);return se(e,s,o,a,null)}function se(e,t,n,o,a){var r={type:e,props:t,key:n,ref:o,__k:null,__:null,__b:0,__e:null,__c:null,constructor:void 0,__v:a??++Be,__i:-1,__u:0};return a==null&&w.vnode!=null&&w.vnode(r),r}function _e(e){return e.children}function Q(e,t){this.props=e,this.context=t}function V(e,t){if(t==null)return e.__?V(e.__,e.__i+1):null;for(var n;t<e.__k.length;t++)if((n=e.__k[t])!=null&&n.__e!=null)return n.__e;return typeof e.type=="function"?V(e):null}function ze(e){var t,n;if((e=e.__)!=null&&e.__c!=null){for(e.__e=e.__c.base=null,t=0;t<e.__k.length;t++)if((n=e.__k[t])!=null&&n.__e!=null){e.__e=e.__c.base=n.__e;break}return ze(e)}}function je(e){(!e.__d&&(e.__d=!0)&&j.push(e)&&!ie.__r++||Fe!=w.debounceRendering)&&((Fe=w.debounceRendering)||qe)(ie)}function ie(){for(var e,t,n,o,a,r,s,c=1;j.length;)j.length>c&&j.sort(Ve),e=j.shift(),c=j.length,e.__d&&(n=void 0,o=void 0,a=(o=(t=e).__v).__e,r=[],s=[],t.__P&&((n=M({},o)).__v=o.__v+1,w.vnode&&w.vnode(n),we(t.__P,n,o,t.__n,t.__P.namespaceURI,32&o.__u?[a]:null,r,a??V(o),!!(32&o.__u),s),n.__v=o.__v,n.__.__k[n.__i]=n,Xe(r,n,s),o.__e=o.__=null,n.__e!=a&&ze(n)));ie.__r=0}function Je(e,t,n,o,a,r,s,c,i,u,d){var _,p,m,f,S,v,$,b=o&&o.__k||Ke,I=t.length;for(i=an(n,t,b,i,I),_=0;_<I;_++)(m=n.__k[_])!=null&&(p=m.__i==-1?X:b[m.__i]||X,m.__i=_,v=we(e,m,p,a,r,s,c,i,u,d),f=m.__e,m.ref&&p.ref!=m.ref&&(p.ref&&ke(p.ref,null,m),d.push(m.ref,m.__c||f,m)),S==null&&f!=null&&(S=f),($=!!(4&m.__u))||p.__k===m.__k?i=Qe(m,i,e,$):typeof m.type=="function"&&v!==void 0?i=v:f&&(i=f.nextSibling),m.__u&=-7);return n.__e=S,i}function an(e,t,n,o,a){var r,s,c,i,u,d=n.length,_=d,p=0;for(e.__k=new Array(a),r=0;r<a;r++)(s=t[r])!=null&&typeof s!="boolean"&&typeof s!="function"?(i=r+p,(s=e.__k[r]=typeof s=="string"||typeof s=="number"||typeof s=="bigint"||s.constructor==String?se(null,s,null,null,null):ce(s)?se(_e,{children:s},null,null,null):s.constructor==null&&s.__b>0?se(s.type,s.props,s.key,s.ref?s.ref:null,s.__v):s).__=e,s.__b=e.__b+1,c=null,(u=s.__i=sn(s,n,i,_))!=-1&&(_--,(c=n[u])&&(c.__u|=2)),c==null||c.__v==null?(u==-1&&(a>d?p--:a<d&&p++),typeof s.type!="function"&&(s.__u|=4)):u!=i&&(u==i-1?p--:u==i+1?p++:(u>i?p--:p++,s.__u|=4))):e.__k[r]=null;if(_)for(r=0;r<d;r++)(c=n[r])!=null&&(2&c.__u)==0&&(c.__e==o&&(o=V(c)),Ze(c,c));return o}function Qe(e,t,n,o){var a,r;if(typeof e.type=="function"){for(a=e.__k,r=0;a&&r<a.length;r++)a[r]&&(a[r].__=e,t=Qe(a[r],t,n,o));return t}e.__e!=t&&(o&&(t&&e.type&&!t.parentNode&&(t=V(e)),n.insertBefore(e.__e,t||null)),t=e.__e);do t=t&&t.nextSibling;while(t!=null&&t.nodeType==8);return t}function sn(e,t,n,o){var a,r,s,c=e.key,i=e.type,u=t[n],d=u!=null&&(2&u.__u)==0;if(u===null&&e.key==null||d&&c==u.key&&i==u.type)return n;if(o>(d?1:0)){for(a=n-1,r=n+1;a>=0||r<t.length;)if((u=t[s=a>=0?a--:r++])!=null&&(2&u.__u)==0&&c==u.key&&i==u.type)return s}return-1}function Ue(e,t,n){t[0]=="-"?e.setProperty(t,n??""):e[t]=n==null?"":typeof n!="number"||rn.test(t)?n:n+"px"}function ae(e,t,n,o,a){var r,s;e:if(t=="style")if(typeof n=="string")e.style.cssText=n;else{if(typeof o=="string"&&(e.style.cssText=o=""),o)for(t in o)n&&t in n||Ue(e.style,t,"");if(n)for(t in n)o&&n[t]==o[t]||Ue(e.style,t,n[t])}else if(t[0]=="o"&&t[1]=="n")r=t!=(t=t.replace(Ge,"$1")),s=t.toLowerCase(),t=s in e||t=="onFocusOut"||t=="onFocusIn"?s.slice(2):t.slice(2),e.l||(e.l={}),e.l[t+r]=n,n?o?n.u=o.u:(n.u=be,e.addEventListener(t,r?ge:$e,r)):e.removeEventListener(t,r?ge:$e,r);else{if(a=="http://www.w3.org/2000/svg")t=t.replace(/xlink(H|:h)/,"h").replace(/sName$/,"s");else if(t!="width"&&t!="height"&&t!="href"&&t!="list"&&t!="form"&&t!="tabIndex"&&t!="download"&&t!="rowSpan"&&t!="colSpan"&&t!="role"&&t!="popover"&&t in e)try{e[t]=n??"";break e}catch{}typeof n=="function"||(n==null||n===!1&&t[4]!="-"?e.removeAttribute(t):e.setAttribute(t,t=="popover"&&n==1?"":n))}}function We(e){return function(t){if(this.l){var n=this.l[t.type+e];if(t.t==null)t.t=be++;else if(t.t<n.u)return;return n(w.event?w.event(t):t)}}}function we(e,t,n,o,a,r,s,c,i,u){var d,_,p,m,f,S,v,$,b,I,N,F,z,He,re,J,he,L=t.type;if(t.constructor!=null)return null;128&n.__u&&(i=!!(32&n.__u),r=[c=t.__e=n.__e]),(d=w.__b)&&d(t);e:if(typeof L=="function")try{if($=t.props,b="prototype"in L&&L.prototype.render,I=(d=L.contextType)&&o[d.__c],N=d?I?I.props.value:d.__:o,n.__c?v=(_=t.__c=n.__c).__=_.__E:(b?t.__c=_=new L($,N):(t.__c=_=new Q($,N),_.constructor=L,_.render=cn),I&&I.sub(_),_.props=$,_.state||(_.state={}),_.context=N,_.__n=o,p=_.__d=!0,_.__h=[],_._sb=[]),b&&_.__s==null&&(_.__s=_.state),b&&L.getDerivedStateFromProps!=null&&(_.__s==_.state&&(_.__s=M({},_.__s)),M(_.__s,L.getDerivedStateFromProps($,_.__s))),m=_.props,f=_.state,_.__v=t,p)b&&L.getDerivedStateFromProps==null&&_.componentWillMount!=null&&_.componentWillMount(),b&&_.componentDidMount!=null&&_.__h.push(_.componentDidMount);else{if(b&&L.getDerivedStateFromProps==null&&$!==m&&_.componentWillReceiveProps!=null&&_.componentWillReceiveProps($,N),!_.__e&&_.shouldComponentUpdate!=null&&_.shouldComponentUpdate($,_.__s,N)===!1||t.__v==n.__v){for(t.__v!=n.__v&&(_.props=$,_.state=_.__s,_.__d=!1),t.__e=n.__e,t.__k=n.__k,t.__k.some(function(q){q&&(q.__=t)}),F=0;F<_._sb.length;F++)_.__h.push(_._sb[F]);_._sb=[],_.__h.length&&s.push(_);break e}_.componentWillUpdate!=null&&_.componentWillUpdate($,_.__s,N),b&&_.componentDidUpdate!=null&&_.__h.push(function(){_.componentDidUpdate(m,f,S)})}if(_.context=N,_.props=$,_.__P=e,_.__e=!1,z=w.__r,He=0,b){for(_.state=_.__s,_.__d=!1,z&&z(t),d=_.render(_.props,_.state,_.context),re=0;re<_._sb.length;re++)_.__h.push(_._sb[re]);_._sb=[]}else do _.__d=!1,z&&z(t),d=_.render(_.props,_.state,_.context),_.state=_.__s;while(_.__d&&++He<25);_.state=_.__s,_.getChildContext!=null&&(o=M(M({},o),_.getChildContext())),b&&!p&&_.getSnapshotBeforeUpdate!=null&&(S=_.getSnapshotBeforeUpdate(m,f)),J=d,d!=null&&d.type===_e&&d.key==null&&(J=Ye(d.props.children)),c=Je(e,ce(J)?J:[J],t,n,o,a,r,s,c,i,u),_.base=t.__e,t.__u&=-161,_.__h.length&&s.push(_),v&&(_.__E=_.__=null)}catch(q){if(t.__v=null,i||r!=null)if(q.then){for(t.__u|=i?160:128;c&&c.nodeType==8&&c.nextSibling;)c=c.nextSibling;r[r.indexOf(c)]=null,t.__e=c}else{for(he=r.length;he--;)ye(r[he]);ve(t)}else t.__e=n.__e,t.__k=n.__k,q.then||ve(t);w.__e(q,t,n)}else r==null&&t.__v==n.__v?(t.__k=n.__k,t.__e=n.__e):c=t.__e=ln(n.__e,t,n,o,a,r,s,i,u);return(d=w.diffed)&&d(t),128&t.__u?void 0:c}function ve(e){e&&e.__c&&(e.__c.__e=!0),e&&e.__k&&e.__k.forEach(ve)}function Xe(e,t,n){for(var o=0;o<n.length;o++)ke(n[o],n[++o],n[++o]);w.__c&&w.__c(t,e),e.some(function(a){try{e=a.__h,a.__h=[],e.some(function(r){r.call(a)})}catch(r){w.__e(r,a.__v)}})}function Ye(e){return typeof e!="object"||e==null||e.__b&&e.__b>0?e:ce(e)?e.map(Ye):M({},e)}function ln(e,t,n,o,a,r,s,c,i){var u,d,_,p,m,f,S,v=n.props,$=t.props,b=t.type;if(b=="svg"?a="http://www.w3.org/2000/svg":b=="math"?a="http://www.w3.org/1998/Math/MathML":a||(a="http://www.w3.org/1999/xhtml"),r!=null){for(u=0;u<r.length;u++)if((m=r[u])&&"setAttribute"in m==!!b&&(b?m.localName==b:m.nodeType==3)){e=m,r[u]=null;break}}if(e==null){if(b==null)return document.createTextNode($);e=document.createElementNS(a,b,$.is&&$),c&&(w.__m&&w.__m(t,r),c=!1),r=null}if(b==null)v===$||c&&e.data==$||(e.data=$);else{if(r=r&&le.call(e.childNodes),v=n.props||X,!c&&r!=null)for(v={},u=0;u<e.attributes.length;u++)v[(m=e.attributes[u]).name]=m.value;for(u in v)if(m=v[u],u!="children"){if(u=="dangerouslySetInnerHTML")_=m;else if(!(u in $)){if(u=="value"&&"defaultValue"in $||u=="checked"&&"defaultChecked"in $)continue;ae(e,u,null,m,a)}}for(u in $)m=$[u],u=="children"?p=m:u=="dangerouslySetInnerHTML"?d=m:u=="value"?f=m:u=="checked"?S=m:c&&typeof m!="function"||v[u]===m||ae(e,u,m,v[u],a);if(d)c||_&&(d.__html==_.__html||d.__html==e.innerHTML)||(e.innerHTML=d.__html),t.__k=[];else if(_&&(e.innerHTML=""),Je(t.type=="template"?e.content:e,ce(p)?p:[p],t,n,o,b=="foreignObject"?"http://www.w3.org/1999/xhtml":a,r,s,r?r[0]:n.__k&&V(n,0),c,i),r!=null)for(u=r.length;u--;)ye(r[u]);c||(u="value",b=="progress"&&f==null?e.removeAttribute("value"):f!=null&&(f!==e[u]||b=="progress"&&!f||b=="option"&&f!=v[u])&&ae(e,u,f,v[u],a),u="checked",S!=null&&S!=e[u]&&ae(e,u,S,v[u],a))}return e}function ke(e,t,n){try{if(typeof e=="function"){var o=typeof e.__u=="function";o&&e.__u(),o&&t==null||(e.__u=e(t))}else e.current=t}catch(a){w.__e(a,n)}}function Ze(e,t,n){var o,a;if(w.unmount&&w.unmount(e),(o=e.ref)&&(o.current&&o.current!=e.__e||ke(o,null,t)),(o=e.__c)!=null){if(o.componentWillUnmount)try{o.componentWillUnmount()}catch(r){w.__e(r,t)}o.base=o.__P=null}if(o=e.__k)for(a=0;a<o.length;a++)o[a]&&Ze(o[a],t,n||typeof e.type!="function");n||ye(e.__e),e.__c=e.__=e.__e=void 0}function cn(e,t,n){return this.constructor(e,n)}function Se(e,t,n){var o,a,r,s;t==document&&(t=document.documentElement),w.__&&w.__(e,t),a=(o=typeof n=="function")?null:n&&n.__k||t.__k,r=[],s=[],we(t,e=(!o&&n||t).__k=ue(_e,null,[e]),a||X,X,t.namespaceURI,!o&&n?[n]:a?null:t.firstChild?le.call(t.childNodes):null,r,!o&&n?n:a?a.__e:t.firstChild,o,s),Xe(r,e,s)}le=Ke.slice,w={__e:function(e,t,n,o){for(var a,r,s;t=t.__;)if((a=t.__c)&&!a.__)try{if((r=a.constructor)&&r.getDerivedStateFromError!=null&&(a.setState(r.getDerivedStateFromError(e)),s=a.__d),a.componentDidCatch!=null&&(a.componentDidCatch(e,o||{}),s=a.__d),s)return a.__E=a}catch(c){e=c}throw e}},Be=0,nn=function(e){return e!=null&&e.constructor==null},Q.prototype.setState=function(e,t){var n;n=this.__s!=null&&this.__s!=this.state?this.__s:this.__s=M({},this.state),typeof e=="function"&&(e=e(M({},n),this.props)),e&&M(n,e),e!=null&&this.__v&&(t&&this._sb.push(t),je(this))},Q.prototype.forceUpdate=function(e){this.__v&&(this.__e=!0,e&&this.__h.push(e),je(this))},Q.prototype.render=_e,j=[],qe=typeof Promise=="function"?Promise.prototype.then.bind(Promise.resolve()):setTimeout,Ve=function(e,t){return e.__v.__b-t.__v.__b},ie.__r=0,Ge=/(PointerCapture)$|Capture$/i,be=0,$e=We(!1),ge=We(!0),on=0;var tt=function(e,t,n,o){var a;t[0]=0;for(var r=1;r<t.length;r++){var s=t[r++],c=t[r]?(t[0]|=s?1:2,n[t[r++]]):t[++r];s===3?o[0]=c:s===4?o[1]=Object.assign(o[1]||{},c):s===5?(o[1]=o[1]||{})[t[++r]]=c:s===6?o[1][t[++r]]+=c+"":s?(a=e.apply(c,tt(e,c,n,["",null])),o.push(a),c[0]?t[0]|=2:(t[r-2]=0,t[r]=a)):o.push(c)}return o},et=new Map;function nt(e){var t=et.get(this);return t||(t=new Map,et.set(this,t)),(t=tt(this,t.get(e)||(t.set(e,t=(function(n){for(var o,a,r=1,s="",c="",i=[0],u=function(p){r===1&&(p||(s=s.replace(/^\s*\n\s*|\s*\n\s*$/g,"")))?i.push(0,p,s):r===3&&(p||s)?(i.push(3,p,s),r=2):r===2&&s==="..."&&p?i.push(4,p,0):r===2&&s&&!p?i.push(5,0,!0,s):r>=5&&((s||!p&&r===5)&&(i.push(r,0,s,a),r=6),p&&(i.push(r,p,0,a),r=6)),s=""},d=0;d<n.length;d++){d&&(r===1&&u(),u(d));for(var _=0;_<n[d].length;_++)o=n[d][_],r===1?o==="<"?(u(),i=[i],r=3):s+=o:r===4?s==="--"&&o===">"?(r=1,s=""):s=o+s[0]:c?o===c?c="":s+=o:o==='"'||o==="'"?c=o:o===">"?(u(),r=1):r&&(o==="="?(r=5,a=s,s=""):o==="/"&&(r<5||n[d][_+1]===">")?(u(),r===3&&(i=i[0]),r=i,(i=i[0]).push(2,0,r),r=0):o===" "||o==="	"||o===`
`||o==="\r"?(u(),r=2):s+=o),r===3&&s==="!--"&&(r=4,i=i[0])}return u(),i})(e)),t),arguments,[])).length>1?t:t[0]}var l=nt.bind(ue);var Y,E,xe,ot,Z=0,_t=[],A=w,rt=A.__b,at=A.__r,st=A.diffed,it=A.__c,lt=A.unmount,ct=A.__;function Te(e,t){A.__h&&A.__h(E,e,Z||t),Z=0;var n=E.__H||(E.__H={__:[],__h:[]});return e>=n.__.length&&n.__.push({}),n.__[e]}function T(e){return Z=1,un(mt,e)}function un(e,t,n){var o=Te(Y++,2);if(o.t=e,!o.__c&&(o.__=[n?n(t):mt(void 0,t),function(c){var i=o.__N?o.__N[0]:o.__[0],u=o.t(i,c);i!==u&&(o.__N=[u,o.__[1]],o.__c.setState({}))}],o.__c=E,!E.__f)){var a=function(c,i,u){if(!o.__c.__H)return!0;var d=o.__c.__H.__.filter(function(p){return!!p.__c});if(d.every(function(p){return!p.__N}))return!r||r.call(this,c,i,u);var _=o.__c.props!==c;return d.forEach(function(p){if(p.__N){var m=p.__[0];p.__=p.__N,p.__N=void 0,m!==p.__[0]&&(_=!0)}}),r&&r.call(this,c,i,u)||_};E.__f=!0;var r=E.shouldComponentUpdate,s=E.componentWillUpdate;E.componentWillUpdate=function(c,i,u){if(this.__e){var d=r;r=void 0,a(c,i,u),r=d}s&&s.call(this,c,i,u)},E.shouldComponentUpdate=a}return o.__N||o.__}function R(e,t){var n=Te(Y++,3);!A.__s&&ft(n.__H,t)&&(n.__=e,n.u=t,E.__H.__h.push(n))}function U(e){return Z=5,pt(function(){return{current:e}},[])}function pt(e,t){var n=Te(Y++,7);return ft(n.__H,t)&&(n.__=e(),n.__H=t,n.__h=e),n.__}function dt(e,t){return Z=8,pt(function(){return e},t)}function _n(){for(var e;e=_t.shift();)if(e.__P&&e.__H)try{e.__H.__h.forEach(pe),e.__H.__h.forEach(Ee),e.__H.__h=[]}catch(t){e.__H.__h=[],A.__e(t,e.__v)}}A.__b=function(e){E=null,rt&&rt(e)},A.__=function(e,t){e&&t.__k&&t.__k.__m&&(e.__m=t.__k.__m),ct&&ct(e,t)},A.__r=function(e){at&&at(e),Y=0;var t=(E=e.__c).__H;t&&(xe===E?(t.__h=[],E.__h=[],t.__.forEach(function(n){n.__N&&(n.__=n.__N),n.u=n.__N=void 0})):(t.__h.forEach(pe),t.__h.forEach(Ee),t.__h=[],Y=0)),xe=E},A.diffed=function(e){st&&st(e);var t=e.__c;t&&t.__H&&(t.__H.__h.length&&(_t.push(t)!==1&&ot===A.requestAnimationFrame||((ot=A.requestAnimationFrame)||pn)(_n)),t.__H.__.forEach(function(n){n.u&&(n.__H=n.u),n.u=void 0})),xe=E=null},A.__c=function(e,t){t.some(function(n){try{n.__h.forEach(pe),n.__h=n.__h.filter(function(o){return!o.__||Ee(o)})}catch(o){t.some(function(a){a.__h&&(a.__h=[])}),t=[],A.__e(o,n.__v)}}),it&&it(e,t)},A.unmount=function(e){lt&&lt(e);var t,n=e.__c;n&&n.__H&&(n.__H.__.forEach(function(o){try{pe(o)}catch(a){t=a}}),n.__H=void 0,t&&A.__e(t,n.__v))};var ut=typeof requestAnimationFrame=="function";function pn(e){var t,n=function(){clearTimeout(o),ut&&cancelAnimationFrame(t),setTimeout(e)},o=setTimeout(n,35);ut&&(t=requestAnimationFrame(n))}function pe(e){var t=E,n=e.__c;typeof n=="function"&&(e.__c=void 0,n()),E=t}function Ee(e){var t=E;e.__c=e.__(),E=t}function ft(e,t){return!e||e.length!==t.length||t.some(function(n,o){return n!==e[o]})}function mt(e,t){return typeof t=="function"?t(e):t}var h="../evenkeel/v1",Ae="evenkeel-authorization",W=class extends Error{constructor(t,n){super(n),this.status=t}},ht=0,ee=()=>Date.now()+ht,te=JSON.parse(sessionStorage.getItem(Ae)||"{}");function $t(e){te=e,sessionStorage.setItem(Ae,JSON.stringify(e))}function gt(){te={},sessionStorage.removeItem(Ae)}function De(){return Object.keys(te).length>0}function vt(e,t){let n=new TextEncoder().encode(`${e}:${t}`);return{Authorization:`Basic ${btoa(String.fromCharCode(...n))}`}}function bt(e){return{"X-Auth-Token":e}}async function Pe(e,t,n,o=15e3){let a={Accept:"application/json",...te};n!==void 0&&(a["Content-Type"]="application/json");let r;try{r=await fetch(t,{method:e,headers:a,body:n===void 0?void 0:JSON.stringify(n),credentials:"omit",cache:"no-store",signal:AbortSignal.timeout(o)})}catch(i){throw new W(0,`no answer from this controller: ${i.message}`)}dn(r);let s=await r.text(),c=s?St(s):null;if(!r.ok)throw new W(r.status,xt(c)||`HTTP ${r.status}`);return c}function dn(e){let t=Date.parse(e.headers.get("Date")||"");t&&Math.abs(t+500-ee())>1e3&&(ht=t+500-Date.now())}async function yt(e,t,{told:n,at:o,signal:a,silentMs:r}){let s=new AbortController,c=()=>s.abort();a.addEventListener("abort",c);let i=setTimeout(c,r);try{let u=await fetch(e,{headers:{Accept:"text/event-stream","Last-Event-ID":String(t),...te},credentials:"omit",cache:"no-store",signal:s.signal});if(!u.ok)throw new W(u.status,xt(St(await u.text()))||`HTTP ${u.status}`);let d=u.body.pipeThrough(new TextDecoderStream).getReader(),_="";for(;;){let{done:p,value:m}=await d.read();if(p)return;clearTimeout(i),i=setTimeout(c,r);let f=(_+m).split(`

`);_=f.pop();let S=[];for(let v of f)for(let $ of v.split(`
`))$.startsWith("id: ")&&o(Number($.slice(4))),$.startsWith("data: ")&&S.push(JSON.parse($.slice(6)));n(S)}}catch(u){throw u instanceof W?u:new W(0,`no answer from this controller: ${u.message}`)}finally{clearTimeout(i),a.removeEventListener("abort",c),s.abort()}}var wt=(e,t,n)=>Pe("POST",e,t,n),g=e=>Pe("GET",e),kt=(e,t)=>Pe("PUT",e,t);function St(e){try{return JSON.parse(e)}catch{return null}}function xt(e){return e&&(e.faultstring||e.reason||e.error&&e.error.message||e.detail)}var Tt=new URLSearchParams(location.search).get("demo"),fn="../demo/controls",mn=2e3;async function Et(e){let t=await fetch(fn,{method:e?"POST":"GET",headers:{"X-Demo-Token":Tt,"Content-Type":"application/json"},body:e&&JSON.stringify(e),cache:"no-store"}),n=await t.json();if(!t.ok)throw new Error(n.reason||`HTTP ${t.status}`);return n}function At(){let[e,t]=T(null),[n,o]=T(""),[a,r]=T("");if(R(()=>{if(!Tt)return;let i=()=>Et().then(t,()=>t(null));i();let u=setInterval(()=>document.hidden||i(),mn);return()=>clearInterval(u)},[]),!e)return null;let s=n||e.agents[0].host,c=(i,u)=>l`<button
      type="button"
      disabled=${!e.offered}
      onClick=${()=>Et({action:u,host:s}).then(d=>(t(d),r("")),d=>r(d.message))}
    >
      ${i}
    </button>`;return l`<section class="demo" aria-label="Demo">
    <strong>Demo</strong>
    <label
      >Agent${" "}
      <select value=${s} onChange=${i=>o(i.target.value)}>
        ${e.agents.map(i=>l`<option value=${i.host}>${i.host}, ${i.state}</option>`)}
      </select></label
    >
    ${c("Kill it","kill")} ${c("Freeze it","freeze")} ${c("Cut the device off","cut")} ${c("Heal everything","heal")}
    <span role="status">${a||(e.offered?`Device: ${e.device}`:"It tells its story first; the buttons come at its end.")}</span>
  </section>`}var hn=1e4,$n=2e3,gn=200,vn=100,bn=4e4,Dt=[1e3,1e3,2e3,5e3];function Pt(){let[e,t]=T({events:[],error:null,newest:0,connected:!1});return R(()=>{let n=new AbortController,o=null,a=()=>document.hidden&&o&&o.abort();document.addEventListener("visibilitychange",a),n.signal.addEventListener("abort",()=>{document.removeEventListener("visibilitychange",a),o&&o.abort()});let r=null,s=0,c=u=>{s=0,t(d=>wn(d,u))};async function i(){for(;!n.signal.aborted;){if(await yn(),n.signal.aborted)return;o=new AbortController;try{if(r===null){let u=(await g(`${h}/events?limit=${vn}&newest=true`)).events;r=u.length?u[0].id-1:0,c(u)}await yt(`${h}/events`,r,{told:c,at:u=>r=u,signal:o.signal,silentMs:bn})}catch(u){if(n.signal.aborted)return;if(o.signal.aborted)continue;if(t(d=>({...d,error:u,connected:!1})),u.status===401||u.status===403)return}await new Promise(u=>setTimeout(u,Dt[Math.min(s++,Dt.length-1)]))}}return i(),()=>n.abort()},[]),e}function yn(){return document.hidden?new Promise(e=>document.addEventListener("visibilitychange",e,{once:!0})):Promise.resolve()}function wn(e,t){let n=new Set(e.events.map(r=>r.id)),o=t.filter(r=>!n.has(r.id));return!o.length&&e.connected&&!e.error?e:{events:[...o,...e.events].sort((r,s)=>s.id-r.id).slice(0,gn),error:null,connected:!0,newest:e.newest+o.length}}function D(e,t,n=[]){let[o,a]=T({data:null,error:null,at:0}),r=U(0),s=U(0),c=dt(async()=>{let i=++r.current;s.current=Date.now();try{let u=await e();i===r.current&&a({data:u,error:null,at:ee()})}catch(u){i===r.current&&a(d=>({...d,error:u}))}},n);return R(()=>(s.current=0,()=>{r.current+=1}),[c]),R(()=>{let i=setTimeout(c,Math.max(0,s.current+$n-Date.now())),u=setInterval(()=>document.hidden||c(),hn);return()=>{clearTimeout(i),clearInterval(u)}},[c,t]),{...o,again:c}}var kn=new Set(["ACTIVE","ONLINE","up","connected","reached","served","closed"]),Sn=new Set(["ERROR","OFFLINE","silent","forced_down","unserved","halted","out of reach","failed"]);function y({value:e}){let t=kn.has(e)?"good":Sn.has(e)?"bad":"other",n={good:"●",bad:"▲",other:"◌"}[t];return l`<span class="status ${t}"><span aria-hidden="true">${n}</span> ${e}</span>`}var P=e=>e&&/^([0-9a-f]{8}-|[0-9a-f]{32}$)/.test(e)?e.slice(0,8):e;function B(e){if(!e)return"";let t=Math.max(0,(ee()-Date.parse(e.endsWith("Z")?e:`${e}Z`))/1e3);return t<120?`${Math.round(t)} s`:t<7200?`${Math.round(t/60)} min`:t<172800?`${Math.round(t/3600)} h`:`${Math.round(t/86400)} d`}var Ct=e=>`${Math.max(0,e/1e3).toFixed(1)} s`,Ce=e=>e.replace("T"," ").slice(0,19);function Oe(e){for(let[t,n]of[["G",1e9],["M",1e6],["k",1e3]])if(e>=n)return`${(e/n).toPrecision(3)} ${t}`;return e>=10||Number.isInteger(e)?String(Math.round(e)):e.toPrecision(2)}function G({facts:e}){return l`<dl class="facts">
    ${e.filter(([,t])=>t!=="").map(([t,n])=>l`<div><dt>${t}</dt><dd>${n}</dd></div>`)}
  </dl>`}function k({command:e,path:t,method:n="GET"}){return l`<p class="also">
    The same: <code>${e}</code>${t&&l` · <code>${n} ${t.replace(/^\.\./,"")}</code>`}
  </p>`}function x({error:e,loading:t}){return e?l`<p class="failure" role="alert">${e.message}</p>`:t&&l`<p>Loading…</p>`}function O({caption:e,columns:t,rows:n,empty:o}){return n?n.length?l`<div class="scroll" tabindex="0" role="region" aria-label=${e}>
    <table>
      <caption>
        ${e}
      </caption>
      <thead>
        <tr>
          ${t.map(([a])=>l`<th scope="col">${a}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${n.map(a=>l`<tr key=${a.id||a.name}>${t.map(([,r])=>l`<td>${r(a)}</td>`)}</tr>`)}
      </tbody>
    </table>
  </div>`:l`<p class="empty">${o}</p>`:null}function ne({label:e,about:t,question:n,path:o,body:a,command:r,done:s,send:c=kt}){let[i,u]=T(!1),[d,_]=T(null),p=U(null);R(()=>{i&&p.current.showModal()},[i]);async function m(){try{await c(o,a),_(null),u(!1),s()}catch(f){_(f)}}return l`<button type="button" onClick=${()=>u(!0)} aria-label=${t?`${e} ${t}`:null}>${e}</button>
    ${i&&l`<dialog ref=${p} onClose=${()=>u(!1)} aria-label=${t?`${e} ${t}`:e}>
      <p>${n}</p>
      ${r&&l`<p class="also">The same: <code>${r}</code></p>`}
      <${x} error=${d} />
      <button type="button" class="confirm" onClick=${m}>${e}</button>
      <button type="button" onClick=${()=>u(!1)}>Cancel</button>
    </dialog>`}`}var de=50,Ot=e=>`${e.environment}/${e.group_number}`,Rt=e=>`${e.devices.filter(t=>t.reachable).length} of ${e.devices.length}`;function Nt({live:e}){let{data:t,error:n,at:o,again:a}=D(async()=>(await g(`${h}/agents`)).agents,e.newest);return l`<h1>Agents</h1>
    <${x} error=${n} loading=${!t} />
    <${O} caption="Agents" columns=${[["Host",s=>l`<a href="#/agents/${s.id}">${s.host}</a>`],["Device group",Ot],["State",s=>l`<${y} value=${s.state} />`],["Lease",s=>Lt(s,o)],["Last report",s=>B(s.reported_at)],["Shards",s=>s.acting_shards],["At home",s=>s.home_shards],["Queue",s=>s.queue_depth],["Devices in reach",Rt],["Why not",s=>s.waiting_reason||s.away_reason],["Action",s=>l`<${It} agent=${s} done=${a} />`]]} rows=${t} empty="No agent has registered yet. evenkeel-agent on a host that reaches the devices does." />
    <${k} command="evenkeel agent list" path="${h}/agents" />`}function Lt(e,t){return e.alive&&e.session_expires_at?`${Ct(Date.parse(`${e.session_expires_at}Z`)-t)} left`:e.silent_since?`silent for ${B(e.silent_since)}`:"none"}function It({agent:e,done:t}){let n=e.admin_state_up;return l`<${ne}
    label=${n?"Drain":"Undrain"}
    about=${e.host}
    question=${n?`Drain ${e.host}? Its ${e.acting_shards} shards are handed over to other agents, and it gets no new ones.`:`Put ${e.host} back into service? Its shards come home.`}
    path="${h}/agents/${e.id}/${n?"drain":"undrain"}"
    command="evenkeel agent ${n?"drain":"undrain"} ${e.host}"
    done=${t}
  />`}function Mt({id:e,live:t}){async function n(){let[i,u,d]=await Promise.all([g(`${h}/agents/${e}`),g(`${h}/shards?agent_id=${e}`),g(`${h}/agents/${e}/loadbalancers?limit=${de}`)]);return{agent:i.agent,shards:u.shards.filter(_=>_.project_id),balancers:d.loadbalancers}}let{data:o,error:a,at:r,again:s}=D(n,t.newest,[e]),c=o&&o.agent;return l`<p><a href="#/agents">All agents</a></p>
    <h1>${c?c.host:P(e)}</h1>
    <${x} error=${a} loading=${!o} />
    ${c&&l`<${G}
        facts=${[["State",l`<${y} value=${c.state} />`],["Device group",Ot(c)],["Lease",Lt(c,r)],["Last report",B(c.reported_at)],["Shards that it acts for",c.acting_shards],["Shards whose home it is",c.home_shards],["Queue",c.queue_depth],["Devices in reach",Rt(c)],["Why shards wait",c.waiting_reason||c.away_reason],["Device driver",c.device_driver]]}
      />
      <p class="actions"><${It} agent=${c} done=${s} />
      ${c.away_shards>0&&l`<${ne}
        label="Fail back"
        about=${c.host}
        question="Hand the ${c.away_shards} shards whose home is ${c.host} back to it?"
        path="${h}/agents/${e}/failback"
        command="evenkeel agent failback ${c.host}"
        done=${s}
      />`}</p>
      <h2>Devices as it sees them</h2>
      <${O}
        caption="Devices"
        columns=${[["Device",i=>i.name],["Reached",i=>l`<${y} value=${i.reachable?"reached":"out of reach"} />`],["Failover",i=>i.failover_state],["Config sync",i=>i.sync_state],["Version",i=>i.version],["Problem",i=>i.problem]]}
        rows=${c.devices}
        empty="It has not reported a device yet."
      />
      <h2>Shards</h2>
      <${O}
        caption="Shards"
        columns=${[["Tenant",i=>l`<span title=${i.project_id}>${P(i.project_id)}</span>`],["Epoch",i=>i.epoch],["It is",i=>xn(i,e)],["Served",i=>l`<${y} value=${i.served?"served":"unserved"} />`]]}
        rows=${o.shards.slice(0,de)}
        empty="It has no tenant."
      />
      ${o.shards.length>de&&l`<p>${o.shards.length-de} more: <code>evenkeel shard list --agent ${c.host}</code></p>`}
      <h2>Load balancers</h2>
      <${O}
        caption="Load balancers"
        columns=${[["Name",i=>l`<a href="#/loadbalancers/${i.id}">${i.name||P(i.id)}</a>`],["VIP",i=>i.vip_address],["Provisioning",i=>l`<${y} value=${i.provisioning_status} />`],["Operating",i=>l`<${y} value=${i.operating_status} />`]]}
        rows=${o.balancers}
        empty="None."
      />`}
    <${k} command="evenkeel agent show ${c?c.host:e}" path="${h}/agents/${e}" />`}function xn(e,t){let n=[];return e.acting_agent_id===t&&n.push("acting agent"),e.home_agent_id===t&&n.push("home"),n.join(", ")}var En=async()=>(await g(`${h}/topology`)).topology;function Ht({live:e}){let{data:t,error:n}=D(En,e.newest),o=t&&t.groups.flatMap(r=>r.devices.map(s=>({...s,id:`${r.environment}/${r.group_number}/${s.name}`,group:r})));return l`<h1>Devices</h1>
    <p>What agents say of the devices of their group: of several the one that reaches it.</p>
    <${x} error=${n} loading=${!t} />
    <${O} caption="Devices" columns=${[["Device",r=>r.name],["Device group",r=>`${r.group.environment}/${r.group.group_number}`],["Type",r=>r.group.device_driver],["State",r=>l`<${y} value=${r.reachable?"reached":"out of reach"} />`],["Failover",r=>r.failover_state],["Config sync",r=>r.sync_state],["Version",r=>r.version],["Reached by",r=>r.reached_by.join(", ")],["Not reached by",r=>r.missed_by.join(", ")],["Problem",r=>r.problem]]} rows=${o} empty="No agent has reported a device yet." />
    <${k} command="evenkeel device list" path="${h}/topology" />`}function Ft({live:e}){let{data:t,error:n}=D(async()=>(await g(`${h}/controllers`)).controllers,e.newest);return l`<h1>Controllers</h1>
    <p>They are all alike and keep nothing: any of them may end. A silent one is listed for ten minutes.</p>
    <${x} error=${n} loading=${!t} />
    <${O} caption="Controllers" columns=${[["URL",a=>a.url],["Host",a=>a.host],["State",a=>l`<${y} value=${a.alive?"up":"silent"} />`],["Message broker",a=>l`<${y} value=${a.message_broker==="connected"?"connected":"out of reach"} /> ${a.message_broker==="connected"?"":a.message_broker}`],["Version",a=>a.version],["Up for",a=>a.alive?B(a.started_at):""],["Seen",a=>`${B(a.seen_at)} ago`]]} rows=${t} empty="None has been seen yet." />
    <${k} command="evenkeel controller list" path="${h}/controllers" />`}function jt({live:e}){let{data:t,error:n,again:o}=D(async()=>(await g(`${h}/environments`)).environments,e.newest);return l`<h1>Environments</h1>
    <${x} error=${n} loading=${!t} />
    <${O} caption="Environments" columns=${[["Name",r=>r.name],["Device driver",r=>r.device_driver],["Failback",r=>r.failback],["Circuit breaker",r=>r.halted?l`<${y} value="halted" /> ${r.halted}`:l`<${y} value="closed" />`],["Opens at",r=>`${r.breaker_agents} agents and ${Math.round(r.breaker_share*100)} % silent`],["Action",r=>r.halted&&l`<${Tn} row=${r} done=${o} />`]]} rows=${t} empty="There is no environment yet." />
    <${k} command="evenkeel environment list" path="${h}/environments" />`}function Tn({row:e,done:t}){return l`<${ne}
    label="Resume"
    about=${e.name}
    command="evenkeel environment resume ${e.name}"
    question="Are the silent agents of ${e.name} lost for good? Their shards move to others."
    path="${h}/environments/${e.name}/resume"
    done=${t}
  />`}function oe({events:e}){return e.length?l`<ol class="events">
    ${e.map(t=>l`<li key=${t.id}>
        <time>${t.at.replace("T"," ").slice(0,19)}</time>${" "}<span class="kind">${t.kind}</span>${" "}
        <span>${t.load_balancer_id?l`<a href="#/loadbalancers/${t.load_balancer_id}">${t.text}</a>`:t.text}</span>
      </li>`)}
  </ol>`:l`<p>No events yet.</p>`}function Ut({live:e}){return l`<h1>Events</h1>
    <p>New ones appear at the top, times are UTC.</p>
    <${x} error=${e.error} />
    <div aria-live="polite"><${oe} events=${e.events} /></div>
    <${k} command="evenkeel events --follow" path="${h}/events?newest=true" />`}var K="../v2/lbaas",Wt=50,An=/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,Dn=/^[0-9.]{7,15}$|:/;function Pn(e,t){let n=new URLSearchParams({limit:Wt});if(t){let o=e==="any"?An.test(t)?"id":Dn.test(t)?"vip_address":"name":e;n.set(o,t)}return n}function Bt({live:e}){let[t,n]=T(""),[o,a]=T("any"),[r,s]=T(""),c=Pn(o,t.trim());r&&c.set("provisioning_status",r);let i=`${K}/loadbalancers?${c}`,{data:u,error:d}=D(async()=>(await g(i)).loadbalancers,e.newest,[i]),_=[["Name",p=>l`<a href="#/loadbalancers/${p.id}">${p.name||P(p.id)}</a>`],["VIP",p=>p.vip_address],["Provisioning",p=>l`<${y} value=${p.provisioning_status} />`],["Operating",p=>l`<${y} value=${p.operating_status} />`],["Project",p=>l`<span title=${p.project_id}>${P(p.project_id)}</span>`],["Environment",p=>p.provider],["Reason",p=>p.status_reason||p.operating_reason]];return l`<h1>Load balancers</h1>
    <form class="search" role="search" onSubmit=${p=>p.preventDefault()}>
      <label>Search <input type="search" value=${t} onInput=${p=>n(p.target.value)} placeholder="name, VIP or id" /></label>
      <label
        >by
        <select value=${o} onChange=${p=>a(p.target.value)}>
          <option value="any">name, VIP or id</option>
          <option value="project_id">project</option>
        </select></label
      >
      <label
        >Status
        <select value=${r} onChange=${p=>s(p.target.value)}>
          <option value="">any</option>
          ${["ERROR","PENDING_CREATE","PENDING_UPDATE","PENDING_DELETE","ACTIVE"].map(p=>l`<option>${p}</option>`)}
        </select></label
      >
    </form>
    <${x} error=${d} loading=${!u} />
    <${O} caption="Load balancers (at most ${Wt})" columns=${_} rows=${u} empty="None is like that." />
    <${k} command="evenkeel loadbalancer list" path=${i} />`}var Re={listener:["listener","listener","listener",e=>`listeners/${e}`],pool:["pool","pool","pool",e=>`pools/${e}`],member:["member","member","member",(e,t)=>`pools/${t}/members/${e}`],healthmonitor:["health monitor","healthmonitor","healthmonitor",e=>`healthmonitors/${e}`],l7policy:["L7 policy","l7policy","l7policy",e=>`l7policies/${e}`],rule:["L7 rule","rule","l7rule",(e,t)=>`l7policies/${t}/rules/${e}`]},Ne={listeners:"listener",pools:"pool",members:"member",l7policies:"l7policy",rules:"rule"},Vt=new Set(["member","rule"]),Cn=new Set(["provisioning_status","operating_status"]),Le=(e,t,n,o)=>`#/loadbalancers/${e}/${t}/${n}${Vt.has(t)?`/${o}`:""}`;function Gt(e){let t=new Map(e.pools.map(a=>[a.id,a])),n=new Set,o=e.listeners.map(a=>{let r=new Set([a.default_pool_id,...a.l7policies.map(s=>s.redirect_pool_id)]);for(let s of r)n.add(s);return{...a,pools:[...r].filter(s=>t.has(s)).map(s=>t.get(s))}});return{...e,listeners:o,pools:e.pools.filter(a=>!n.has(a.id))}}function Ie({node:e,kind:t,root:n,parent:o}){let a=Object.entries(Ne).flatMap(([c,i])=>(e[c]||[]).map(u=>[i,u]));e.health_monitor&&a.push(["healthmonitor",e.health_monitor]);let r=e.address?` ${e.address}:${e.protocol_port}`:"",s=e.name||e.type||P(e.id);return l`<ul class="tree">
    <li>
      <span class="kind">${t?Re[t][0]:"load balancer"}</span>${" "}
      ${t?l`<a href=${Le(n,t,e.id,o)}>${s}${r}</a>`:s}${" "}
      <${y} value=${e.provisioning_status} />${e.status_reason&&` ${e.status_reason}`}${e.operating_status&&l` <${y} value=${e.operating_status} />`}
      ${a.map(([c,i])=>l`<${Ie} node=${i} kind=${c} root=${n} parent=${e.id} />`)}
    </li>
  </ul>`}function Kt({root:e,kind:t,id:n,parent:o,live:a}){let[r,s,c,i]=Re[t]||Re.listener,{data:u,error:d}=D(async()=>(await g(`${K}/${i(n,o)}`))[s],a.newest,[t,n,o]);return l`<p><a href="#/loadbalancers/${e}">The load balancer</a></p>
    <h1>${r} ${u?u.name||P(n):P(n)}</h1>
    <${x} error=${d} loading=${!u} />
    ${u&&l`<${G} facts=${Object.entries(u).map(([_,p])=>[_,On(_,p,e,n,u)])} />`}
    <${k}
      command="openstack loadbalancer ${c} show ${Vt.has(t)?`${o} `:""}${n}"
      path="${K}/${i(n,o)}"
    />`}var qt={default_pool_id:"pool",redirect_pool_id:"pool",healthmonitor_id:"healthmonitor",listener_id:"listener",pool_id:"pool"};function On(e,t,n,o){return Cn.has(e)?l`<${y} value=${t} />`:t==null||t===""?"–":qt[e]?l`<a href=${Le(n,qt[e],t,o)}>${P(t)}</a>`:Array.isArray(t)&&Ne[e]&&t.every(a=>a&&a.id)?t.length?t.map(a=>l`<a href=${Le(n,Ne[e],a.id,o)}>${P(a.id)}</a>${" "}`):"none":typeof t=="object"?JSON.stringify(t)==="[]"?"none":l`<code>${JSON.stringify(t)}</code>`:String(t)}var zt=240,Me=60,Rn=[["Connections per second",["connections"]],["Open connections",["active_connections"]],["Bytes per second",["bytes_in","bytes_out"]],["Errors per second",["request_errors"]],["Members online",["members_online","members"]]],Jt={bytes_in:"in",bytes_out:"out",members:"of"};function Qt({id:e,turn:t}){let n=`${h}/loadbalancers/${e}/series`,{data:o}=D(()=>g(n),t,[e]);if(!o||!o.points||o.points.length<2)return null;let a=o.points[0].at.slice(11,16);return l`<h2>Traffic since ${a} UTC</h2>
    <div class="charts">${Rn.map(([r,s])=>l`<${Nn} title=${r} names=${s} points=${o.points} />`)}</div>
    <${k} command="evenkeel loadbalancer series ${e}" path=${n} />`}function Nn({title:e,names:t,points:n}){let o=Math.max(1e-9,...n.flatMap(i=>t.map(u=>i[u]||0))),a=n[n.length-1],r=i=>(i*zt/(n.length-1)).toFixed(1),s=i=>(Me-2-(i||0)/o*(Me-6)).toFixed(1),c=t.map(i=>`${Jt[i]?`${Jt[i]} `:""}${Oe(a[i]||0)}`).join(" ");return l`<figure class="chart">
    <figcaption>${e} <strong>${c}</strong></figcaption>
    <svg viewBox="0 0 ${zt} ${Me}" role="img" aria-label="${e}, now ${c}, at most ${Oe(o)}" preserveAspectRatio="none">
      ${t.map((i,u)=>l`<polyline class="series-${u}" points=${n.map((d,_)=>`${r(_)},${s(d[i])}`).join(" ")} />`)}
    </svg>
  </figure>`}function Xt({id:e,live:t}){async function n(){let[r,s,c,i,u]=await Promise.all([g(`${K}/loadbalancers/${e}`),g(`${h}/loadbalancers/${e}/tree`),g(`${h}/loadbalancers/${e}/agent`),g(`${h}/loadbalancers/${e}/history`),g(`${h}/events?object_id=${e}&newest=true&limit=20`)]);return{root:r.loadbalancer,tree:Gt(s.tree),hosting:c.hosting,history:i.history,events:u.events.slice().reverse()}}let{data:o,error:a}=D(n,t.newest,[e]);return l`<p><a href="#/loadbalancers">All load balancers</a></p>
    <h1>${o?o.root.name||P(e):P(e)}</h1>
    <${x} error=${a} loading=${!o} />
    ${o&&l`<${Ln} data=${o} />
      <${Qt} id=${e} turn=${o.hosting.applied_revision} />
      <h2>Objects</h2>
      <${Ie} node=${o.tree} root=${e} />
      <${k} command="evenkeel loadbalancer tree ${e}" path="${h}/loadbalancers/${e}/tree" />
      <${Mn} id=${e} />
      <${Fn} rows=${o.history} id=${e} />
      <h2>Events</h2>
      <${oe} events=${o.events} />`}
    <${k} command="evenkeel explain ${e}" path="${h}/loadbalancers/${e}/agent" />`}function Ln({data:{root:e,hosting:t}}){let n=t.revision-t.applied_revision;return l`<${G}
    facts=${[["VIP",e.vip_address],["Project",e.project_id],["Provisioning",l`<${y} value=${t.provisioning_status} /> ${t.status_reason}`],["Operating",l`<${y} value=${t.operating_status} /> ${t.operating_reason}`],["Desired revision",t.revision],["On the devices",`${t.applied_revision}${n?` (${n} behind)`:" (the same)"}`],["Written by",t.acting?l`<a href="#/agents/${t.acting.id}">${t.acting.host}</a>, epoch ${t.shard.epoch}`:"no agent"],["Home",t.home?l`<a href="#/agents/${t.home.id}">${t.home.host}</a>`:"none"],["Before it in line",t.ahead]]}
  />`}var In=3e4;function Mn({id:e}){let[t,n]=T({plan:null,error:null,asking:!1});async function o(){n({plan:null,error:null,asking:!0});try{n({plan:(await wt(`${h}/loadbalancers/${e}/plan`,void 0,In)).plan,error:null,asking:!1})}catch(a){n({plan:null,error:a,asking:!1})}}return l`<section aria-labelledby="difference">
    <h2 id="difference">Desired and observed</h2>
    <p><button type="button" onClick=${o} disabled=${t.asking}>Compare with the devices</button>${" "}
      Its agent reads the devices and says what its next pass would change. Nothing is changed.</p>
    <div aria-live="polite">
      ${t.asking&&l`<p>Asking the agent…</p>`}
      <${x} error=${t.error} />
      ${t.plan&&t.plan.devices.map(a=>l`<${Hn} key=${a.device} device=${a} host=${t.plan.host} />`)}
    </div>
    <${k} command="evenkeel plan ${e}" path="${h}/loadbalancers/${e}/plan" method="POST" />
  </section>`}function Hn({device:e,host:t}){let n=e.operations.flatMap((a,r)=>(a.attributes.length?a.attributes:[{name:"",present:"",wanted:""}]).map((c,i)=>({id:`${r}.${i}`,step:a,attribute:c}))),o=[["Would",({step:a})=>a.verb],["Object",({step:a})=>l`${a.type} <strong>${a.name}</strong>${a.note&&` (${a.note})`}`],["Attribute",({attribute:a})=>a.name],["Observed",({attribute:a})=>a.present],["Desired",({attribute:a})=>a.wanted]];return l`<h3>${e.device}, read by ${t}</h3>
    ${e.problem&&l`<p class="failure">${e.problem}</p>`}
    ${!n.length&&!e.problem?l`<p class="status good"><span aria-hidden="true">●</span> It holds what is desired: no difference.</p>`:l`<${O} caption="Differences on ${e.device}" columns=${o} rows=${n} empty="" />`}
    ${e.more>0&&l`<p>${e.more} more objects differ.</p>`}`}function Fn({rows:e,id:t}){return l`<h2>History</h2>
    <${O} caption="Revisions" columns=${[["Revision",o=>o.revision],["Accepted",o=>l`<time>${Ce(o.accepted_at)}</time>`],["By",o=>jn(o)],["Request",o=>o.request_id?l`<code>${o.request_id}</code>`:""],["Applied",o=>o.applied_at?l`<time>${Ce(o.applied_at)}</time>`:o.problem?l`<${y} value="failed" /> ${o.problem}`:l`<${y} value="waiting" />`],["Seconds",o=>o.seconds===null?"":o.seconds.toFixed(2)],["By agent",o=>o.host?l`<a href="#/agents/${o.agent_id}">${o.host}</a>`:""],["Epoch",o=>o.epoch]]} rows=${e.map(o=>({...o,id:o.revision}))} empty="No revision is known: it was made before revisions were kept." />
    <${k} command="evenkeel loadbalancer history ${t}" path="${h}/loadbalancers/${t}/history" />`}function jn(e){return e.request_id?`${e.user||"anybody: no authentication"} ${e.project_id&&`(${P(e.project_id)})`}`:"the controllers (certificate or network)"}function Yt({reason:e,done:t}){let[n,o]=T("password");function a(r){r.preventDefault();let s=new FormData(r.target);$t(n==="password"?vt(s.get("name"),s.get("password")):bt(s.get("token"))),t()}return l`<main class="login">
    <h1>Even Keel</h1>
    <form onSubmit=${a}>
      ${e&&l`<p class="failure" role="alert">${e}</p>`}
      <fieldset>
        <legend>Log in with</legend>
        <label><input type="radio" name="kind" checked=${n==="password"} onChange=${()=>o("password")} /> a password</label>
        <label><input type="radio" name="kind" checked=${n==="token"} onChange=${()=>o("token")} /> a Keystone token</label>
      </fieldset>
      ${n==="password"?l`<label>Name <input name="name" autocomplete="username" required /></label>
            <label>Password <input name="password" type="password" autocomplete="current-password" required /></label>`:l`<label>Token <input name="token" type="password" autocomplete="off" required /></label>`}
      <button type="submit">Log in</button>
    </form>
  </main>`}function Zt({live:e}){let{data:t,error:n}=D(async()=>(await g(`${h}/status`)).status,e.newest);return l`<h1>Overview</h1>
    <${x} error=${n} loading=${!t} />
    ${t&&l`<${Un} problems=${t.problems} /><${Wn} status=${t} />`}
    <h2>Latest events</h2>
    <${oe} events=${e.events.slice(0,8)} />
    <${k} command="evenkeel status" path="${h}/status" />`}function Un({problems:e}){return e.length?l`<section class="problems" aria-label="Problems">
    <h2>${e.length} ${e.length===1?"problem":"problems"}</h2>
    <ul>
      ${e.map(t=>l`<li>
          <strong>${t.text}</strong>
          <span class="remedy">What helps: <code>${t.remedy}</code></span>
        </li>`)}
    </ul>
  </section>`:l`<p class="status good"><span aria-hidden="true">●</span> Nothing is wrong.</p>`}function Wn({status:e}){let t=Object.entries(e.load_balancers).filter(([,a])=>a),o=[["Load balancers",t.reduce((a,[,r])=>a+r,0),t.map(([a,r])=>l`<li><${y} value=${a} /> ${r}</li>`),"#/loadbalancers"],["Agents up",e.agents.up,e.agents.down?l`<li>${e.agents.down} down</li>`:null,"#/agents"],["Shards",e.shards.total,e.shards.unserved?l`<li><${y} value="unserved" /> ${e.shards.unserved}</li>`:null,"#/topology"],["Oldest PENDING",`${e.oldest_pending_seconds} s`,null,"#/loadbalancers"],["Message broker",e.message_broker==="connected"?"connected":"away",null,"#/topology"]];return l`<ul class="cards">
    ${o.map(([a,r,s,c])=>l`<li>
        <a href=${c}><span class="title">${a}</span> <span class="value">${r}</span></a>
        <ul>
          ${s}
        </ul>
      </li>`)}
  </ul>`}var Bn=34,C={controller:0,bus:180,agent:310,shard:540,device:740},H={controller:150,bus:100,agent:170,device:260},qn=C.device+H.device+2,Vn=async()=>(await g(`${h}/topology`)).topology;function tn({live:e}){let{data:t,error:n}=D(Vn,e.newest);return l`<h1>Topology</h1>
    <p>A line is a shard: the agent that may write to the devices, with its epoch. At a takeover the line moves and the epoch grows.</p>
    <${x} error=${n} loading=${!t} />
    ${t&&!t.groups.length&&l`<p class="empty">No agent has registered yet.</p>`}
    ${t&&t.groups.map(o=>l`<${Kn} key="${o.environment}/${o.group_number}" group=${o} topology=${t} />`)}
    <${k} command="evenkeel shard list" path="${h}/topology" />`}function Gn(e){if(e.shards.length)return e.shards.map(n=>({key:n.id,agent:n.acting_agent_id,text:`${P(n.project_id)} · epoch ${n.epoch}`,served:n.served}));let t=new Set(e.agents.filter(n=>n.alive).map(n=>n.id));return e.lines.map(n=>({key:n.agent_id||"none",agent:n.agent_id,text:`${n.shards} shards · epochs to ${n.newest_epoch}`,served:t.has(n.agent_id)}))}function Kn({group:e,topology:t}){let n=Gn(e),{agents:o,devices:a}=e,{controllers:r}=t,c=Math.max(o.length,n.length,a.length,r.length,1)*Bn+10,i=(f,S)=>(f+.5)*c/S,u=new Map(o.map((f,S)=>[f.id,i(S,o.length)])),d=c/2,_=t.message_broker==="connected",p=`${e.environment}/${e.group_number}`,m=n.map(f=>`${en(o,f.agent)}: ${f.text}`).join("; ");return l`<figure class="topology">
    <figcaption><h2>${p}</h2>${e.halted&&l`<p class="failure">Halted: ${e.halted}. No shard moves.</p>`}</figcaption>
    <div class="scroll" tabindex="0" role="region" aria-label="Topology of ${p}">
    <svg viewBox="0 0 ${qn} ${c}" role="group" aria-label="Who may write to the devices of ${p}: ${m||"no shards"}">
      ${r.map((f,S)=>{let v=i(S,r.length);return l`<line class=${f.alive?"link":"link cut"} x1=${C.controller+H.controller} y1=${v} x2=${C.bus} y2=${d} />
          <${fe} x=${C.controller} at=${v} width=${H.controller} state=${f.alive?"up":"silent"} text="controller :${f.url.split(":").pop()}" />`})}
      ${o.map(f=>l`<line class=${f.alive?"link":"link cut"} x1=${C.bus+H.bus} y1=${d} x2=${C.agent} y2=${u.get(f.id)} />
          <a href="#/agents/${f.id}"><${fe} x=${C.agent} at=${u.get(f.id)} width=${H.agent} state=${f.state} text="${f.host} · ${f.state}" /></a>`)}
      <${fe} x=${C.bus} at=${d} width=${H.bus} state=${_?"up":"silent"} text="message bus" />
      ${n.map((f,S)=>{let v=i(S,n.length),$=u.get(f.agent),b=C.agent+H.agent;return l`${$!==void 0&&l`<path class="owner ${f.served?"":"cut"}" d="M${b} ${$} C ${b+40} ${$} ${C.shard-40} ${v} ${C.shard} ${v}" />`}
          <text class="shard" data-agent=${en(o,f.agent)} x=${C.shard+6} y=${v+4}>${f.text}${$===void 0?" · no agent":""}</text>
          ${a.map((I,N)=>{let F=i(N,a.length);return l`<path class="reach" d="M${C.shard+155} ${v} C ${C.device-30} ${v} ${C.device-30} ${F} ${C.device} ${F}" />`})}`})}
      ${a.map((f,S)=>l`<${fe} x=${C.device} at=${i(S,a.length)} width=${H.device} state=${f.reachable?"up":"silent"} text="${f.name} · ${f.reachable?f.failover_state||"reached":"out of reach"}" />`)}
    </svg>
    </div>
  </figure>`}var zn=6.6;function fe({x:e,at:t,width:n,state:o,text:a}){let r=Math.floor((n-16)/zn);return l`<g class="box ${o}" transform="translate(${e} ${t-13})">
    <title>${a}</title>
    <rect width=${n} height="26" rx="5" />
    <text x="8" y="17">${a.length>r?`${a.slice(0,r-1)}…`:a}</text>
  </g>`}function en(e,t){let n=e.find(o=>o.id===t);return n?n.host:"no agent"}var me={"":["Overview",Zt],topology:["Topology",tn],loadbalancers:["Load balancers",Bt],agents:["Agents",Nt],devices:["Devices",Ht],controllers:["Controllers",Ft],environments:["Environments",jt],events:["Events",Ut]};function Jn(){let e=()=>location.hash.replace(/^#\/?/,"").split("/").map(decodeURIComponent),[t,n]=T(e);return R(()=>{let o=()=>n(e());return addEventListener("hashchange",o),()=>removeEventListener("hashchange",o)},[]),t}function Qn(){let[e,t]=T({state:"asking",reason:""});async function n(){try{await g(`${h}/events?limit=1&newest=true`),t({state:"in",reason:""})}catch(o){let a=o.status===401||o.status===403;t({state:a?"out":"away",reason:De()||!a?o.message:""})}}return R(()=>{n()},[]),R(()=>{if(e.state!=="away")return;let o=setTimeout(n,2e3);return()=>clearTimeout(o)},[e]),e.state==="asking"?l`<main><p>Loading…</p></main>`:e.state==="out"?l`<${Yt} reason=${e.reason} done=${n} />`:e.state==="away"?l`<main><p class="failure" role="alert">${e.reason}</p></main>`:l`<${Xn}
    leave=${o=>{gt(),t({state:"out",reason:o})}}
  />`}function Xn({leave:e}){let t=Pt(),[n,o,a,r,s]=Jn(),c=U(null),[i,u]=me[n]||me[""];R(()=>{document.title=`${i} · Even Keel`,c.current&&document.activeElement!==document.body&&c.current.focus()},[n,o,r]),R(()=>{t.error&&t.error.status===401&&e(t.error.message)},[t.error]);function d(){return n==="agents"&&o?l`<${Mt} key=${o} id=${o} live=${t} />`:n!=="loadbalancers"||!o?l`<${u} key=${n} live=${t} />`:a?l`<${Kt} key=${r} root=${o} kind=${a} id=${r} parent=${s} live=${t} />`:l`<${Xt} key=${o} id=${o} live=${t} />`}return l`<a class="skip" href="#main" onClick=${_=>(_.preventDefault(),c.current.focus())}>Skip to content</a>
    <header>
      <span class="brand">Even Keel</span>
      <nav aria-label="Views">
        ${Object.entries(me).map(([_,[p]])=>l`<a href="#/${_}" aria-current=${_===(me[n]?n:"")?"page":null}>${p}</a>`)}
      </nav>
      ${De()&&l`<button type="button" onClick=${()=>e("")}>Log out</button>`}
    </header>
    <${At} />
    ${t.error&&t.error.status!==401&&l`<p class="failure banner" role="alert">${t.error.message}: trying again</p>`}
    <main id="main" tabindex="-1" ref=${c}>
      ${d()}
    </main>`}Se(l`<${Qn} />`,document.getElementById("app"));
