var le,w,Be,tn,j,Fe,qe,Ve,Ge,be,$e,ge,nn,X={},Ke=[],on=/acit|ex(?:s|g|n|p|$)|rph|grid|ows|mnc|ntw|ine[ch]|zoo|^ord|itera/i,ce=Array.isArray;function H(e,t){for(var n in t)e[n]=t[n];return e}function ye(e){e&&e.parentNode&&e.parentNode.removeChild(e)}function ue(e,t,n){var o,a,r,s={};for(r in t)r=="key"?o=t[r]:r=="ref"?a=t[r]:s[r]=t[r];if(arguments.length>2&&(s.children=arguments.length>3?le.call(arguments,2):n),typeof e=="function"&&e.defaultProps!=null)for(r in e.defaultProps)s[r]===void 0&&(s[r]=e.defaultProps[r]);return se(e,s,o,a,null)}function se(e,t,n,o,a){var r={type:e,props:t,key:n,ref:o,__k:null,__:null,__b:0,__e:null,__c:null,constructor:void 0,__v:a??++Be,__i:-1,__u:0};return a==null&&w.vnode!=null&&w.vnode(r),r}function _e(e){return e.children}function Q(e,t){this.props=e,this.context=t}function G(e,t){if(t==null)return e.__?G(e.__,e.__i+1):null;for(var n;t<e.__k.length;t++)if((n=e.__k[t])!=null&&n.__e!=null)return n.__e;return typeof e.type=="function"?G(e):null}function ze(e){var t,n;if((e=e.__)!=null&&e.__c!=null){for(e.__e=e.__c.base=null,t=0;t<e.__k.length;t++)if((n=e.__k[t])!=null&&n.__e!=null){e.__e=e.__c.base=n.__e;break}return ze(e)}}function je(e){(!e.__d&&(e.__d=!0)&&j.push(e)&&!ie.__r++||Fe!=w.debounceRendering)&&((Fe=w.debounceRendering)||qe)(ie)}function ie(){for(var e,t,n,o,a,r,s,i=1;j.length;)j.length>i&&j.sort(Ve),e=j.shift(),i=j.length,e.__d&&(n=void 0,o=void 0,a=(o=(t=e).__v).__e,r=[],s=[],t.__P&&((n=H({},o)).__v=o.__v+1,w.vnode&&w.vnode(n),we(t.__P,n,o,t.__n,t.__P.namespaceURI,32&o.__u?[a]:null,r,a??G(o),!!(32&o.__u),s),n.__v=o.__v,n.__.__k[n.__i]=n,Xe(r,n,s),o.__e=o.__=null,n.__e!=a&&ze(n)));ie.__r=0}function Je(e,t,n,o,a,r,s,i,l,_,d){var u,p,m,f,k,v,$,b=o&&o.__k||Ke,I=t.length;for(l=rn(n,t,b,l,I),u=0;u<I;u++)(m=n.__k[u])!=null&&(p=m.__i==-1?X:b[m.__i]||X,m.__i=u,v=we(e,m,p,a,r,s,i,l,_,d),f=m.__e,m.ref&&p.ref!=m.ref&&(p.ref&&ke(p.ref,null,m),d.push(m.ref,m.__c||f,m)),k==null&&f!=null&&(k=f),($=!!(4&m.__u))||p.__k===m.__k?l=Qe(m,l,e,$):typeof m.type=="function"&&v!==void 0?l=v:f&&(l=f.nextSibling),m.__u&=-7);return n.__e=k,l}function rn(e,t,n,o,a){var r,s,i,l,_,d=n.length,u=d,p=0;for(e.__k=new Array(a),r=0;r<a;r++)(s=t[r])!=null&&typeof s!="boolean"&&typeof s!="function"?(l=r+p,(s=e.__k[r]=typeof s=="string"||typeof s=="number"||typeof s=="bigint"||s.constructor==String?se(null,s,null,null,null):ce(s)?se(_e,{children:s},null,null,null):s.constructor==null&&s.__b>0?se(s.type,s.props,s.key,s.ref?s.ref:null,s.__v):s).__=e,s.__b=e.__b+1,i=null,(_=s.__i=an(s,n,l,u))!=-1&&(u--,(i=n[_])&&(i.__u|=2)),i==null||i.__v==null?(_==-1&&(a>d?p--:a<d&&p++),typeof s.type!="function"&&(s.__u|=4)):_!=l&&(_==l-1?p--:_==l+1?p++:(_>l?p--:p++,s.__u|=4))):e.__k[r]=null;if(u)for(r=0;r<d;r++)(i=n[r])!=null&&(2&i.__u)==0&&(i.__e==o&&(o=G(i)),Ze(i,i));return o}function Qe(e,t,n,o){var a,r;if(typeof e.type=="function"){for(a=e.__k,r=0;a&&r<a.length;r++)a[r]&&(a[r].__=e,t=Qe(a[r],t,n,o));return t}e.__e!=t&&(o&&(t&&e.type&&!t.parentNode&&(t=G(e)),n.insertBefore(e.__e,t||null)),t=e.__e);do t=t&&t.nextSibling;while(t!=null&&t.nodeType==8);return t}function an(e,t,n,o){var a,r,s,i=e.key,l=e.type,_=t[n],d=_!=null&&(2&_.__u)==0;if(_===null&&e.key==null||d&&i==_.key&&l==_.type)return n;if(o>(d?1:0)){for(a=n-1,r=n+1;a>=0||r<t.length;)if((_=t[s=a>=0?a--:r++])!=null&&(2&_.__u)==0&&i==_.key&&l==_.type)return s}return-1}function Ue(e,t,n){t[0]=="-"?e.setProperty(t,n??""):e[t]=n==null?"":typeof n!="number"||on.test(t)?n:n+"px"}function ae(e,t,n,o,a){var r,s;e:if(t=="style")if(typeof n=="string")e.style.cssText=n;else{if(typeof o=="string"&&(e.style.cssText=o=""),o)for(t in o)n&&t in n||Ue(e.style,t,"");if(n)for(t in n)o&&n[t]==o[t]||Ue(e.style,t,n[t])}else if(t[0]=="o"&&t[1]=="n")r=t!=(t=t.replace(Ge,"$1")),s=t.toLowerCase(),t=s in e||t=="onFocusOut"||t=="onFocusIn"?s.slice(2):t.slice(2),e.l||(e.l={}),e.l[t+r]=n,n?o?n.u=o.u:(n.u=be,e.addEventListener(t,r?ge:$e,r)):e.removeEventListener(t,r?ge:$e,r);else{if(a=="http://www.w3.org/2000/svg")t=t.replace(/xlink(H|:h)/,"h").replace(/sName$/,"s");else if(t!="width"&&t!="height"&&t!="href"&&t!="list"&&t!="form"&&t!="tabIndex"&&t!="download"&&t!="rowSpan"&&t!="colSpan"&&t!="role"&&t!="popover"&&t in e)try{e[t]=n??"";break e}catch{}typeof n=="function"||(n==null||n===!1&&t[4]!="-"?e.removeAttribute(t):e.setAttribute(t,t=="popover"&&n==1?"":n))}}function We(e){return function(t){if(this.l){var n=this.l[t.type+e];if(t.t==null)t.t=be++;else if(t.t<n.u)return;return n(w.event?w.event(t):t)}}}function we(e,t,n,o,a,r,s,i,l,_){var d,u,p,m,f,k,v,$,b,I,N,F,z,Me,re,J,he,L=t.type;if(t.constructor!=null)return null;128&n.__u&&(l=!!(32&n.__u),r=[i=t.__e=n.__e]),(d=w.__b)&&d(t);e:if(typeof L=="function")try{if($=t.props,b="prototype"in L&&L.prototype.render,I=(d=L.contextType)&&o[d.__c],N=d?I?I.props.value:d.__:o,n.__c?v=(u=t.__c=n.__c).__=u.__E:(b?t.__c=u=new L($,N):(t.__c=u=new Q($,N),u.constructor=L,u.render=ln),I&&I.sub(u),u.props=$,u.state||(u.state={}),u.context=N,u.__n=o,p=u.__d=!0,u.__h=[],u._sb=[]),b&&u.__s==null&&(u.__s=u.state),b&&L.getDerivedStateFromProps!=null&&(u.__s==u.state&&(u.__s=H({},u.__s)),H(u.__s,L.getDerivedStateFromProps($,u.__s))),m=u.props,f=u.state,u.__v=t,p)b&&L.getDerivedStateFromProps==null&&u.componentWillMount!=null&&u.componentWillMount(),b&&u.componentDidMount!=null&&u.__h.push(u.componentDidMount);else{if(b&&L.getDerivedStateFromProps==null&&$!==m&&u.componentWillReceiveProps!=null&&u.componentWillReceiveProps($,N),!u.__e&&u.shouldComponentUpdate!=null&&u.shouldComponentUpdate($,u.__s,N)===!1||t.__v==n.__v){for(t.__v!=n.__v&&(u.props=$,u.state=u.__s,u.__d=!1),t.__e=n.__e,t.__k=n.__k,t.__k.some(function(V){V&&(V.__=t)}),F=0;F<u._sb.length;F++)u.__h.push(u._sb[F]);u._sb=[],u.__h.length&&s.push(u);break e}u.componentWillUpdate!=null&&u.componentWillUpdate($,u.__s,N),b&&u.componentDidUpdate!=null&&u.__h.push(function(){u.componentDidUpdate(m,f,k)})}if(u.context=N,u.props=$,u.__P=e,u.__e=!1,z=w.__r,Me=0,b){for(u.state=u.__s,u.__d=!1,z&&z(t),d=u.render(u.props,u.state,u.context),re=0;re<u._sb.length;re++)u.__h.push(u._sb[re]);u._sb=[]}else do u.__d=!1,z&&z(t),d=u.render(u.props,u.state,u.context),u.state=u.__s;while(u.__d&&++Me<25);u.state=u.__s,u.getChildContext!=null&&(o=H(H({},o),u.getChildContext())),b&&!p&&u.getSnapshotBeforeUpdate!=null&&(k=u.getSnapshotBeforeUpdate(m,f)),J=d,d!=null&&d.type===_e&&d.key==null&&(J=Ye(d.props.children)),i=Je(e,ce(J)?J:[J],t,n,o,a,r,s,i,l,_),u.base=t.__e,t.__u&=-161,u.__h.length&&s.push(u),v&&(u.__E=u.__=null)}catch(V){if(t.__v=null,l||r!=null)if(V.then){for(t.__u|=l?160:128;i&&i.nodeType==8&&i.nextSibling;)i=i.nextSibling;r[r.indexOf(i)]=null,t.__e=i}else{for(he=r.length;he--;)ye(r[he]);ve(t)}else t.__e=n.__e,t.__k=n.__k,V.then||ve(t);w.__e(V,t,n)}else r==null&&t.__v==n.__v?(t.__k=n.__k,t.__e=n.__e):i=t.__e=sn(n.__e,t,n,o,a,r,s,l,_);return(d=w.diffed)&&d(t),128&t.__u?void 0:i}function ve(e){e&&e.__c&&(e.__c.__e=!0),e&&e.__k&&e.__k.forEach(ve)}function Xe(e,t,n){for(var o=0;o<n.length;o++)ke(n[o],n[++o],n[++o]);w.__c&&w.__c(t,e),e.some(function(a){try{e=a.__h,a.__h=[],e.some(function(r){r.call(a)})}catch(r){w.__e(r,a.__v)}})}function Ye(e){return typeof e!="object"||e==null||e.__b&&e.__b>0?e:ce(e)?e.map(Ye):H({},e)}function sn(e,t,n,o,a,r,s,i,l){var _,d,u,p,m,f,k,v=n.props,$=t.props,b=t.type;if(b=="svg"?a="http://www.w3.org/2000/svg":b=="math"?a="http://www.w3.org/1998/Math/MathML":a||(a="http://www.w3.org/1999/xhtml"),r!=null){for(_=0;_<r.length;_++)if((m=r[_])&&"setAttribute"in m==!!b&&(b?m.localName==b:m.nodeType==3)){e=m,r[_]=null;break}}if(e==null){if(b==null)return document.createTextNode($);e=document.createElementNS(a,b,$.is&&$),i&&(w.__m&&w.__m(t,r),i=!1),r=null}if(b==null)v===$||i&&e.data==$||(e.data=$);else{if(r=r&&le.call(e.childNodes),v=n.props||X,!i&&r!=null)for(v={},_=0;_<e.attributes.length;_++)v[(m=e.attributes[_]).name]=m.value;for(_ in v)if(m=v[_],_!="children"){if(_=="dangerouslySetInnerHTML")u=m;else if(!(_ in $)){if(_=="value"&&"defaultValue"in $||_=="checked"&&"defaultChecked"in $)continue;ae(e,_,null,m,a)}}for(_ in $)m=$[_],_=="children"?p=m:_=="dangerouslySetInnerHTML"?d=m:_=="value"?f=m:_=="checked"?k=m:i&&typeof m!="function"||v[_]===m||ae(e,_,m,v[_],a);if(d)i||u&&(d.__html==u.__html||d.__html==e.innerHTML)||(e.innerHTML=d.__html),t.__k=[];else if(u&&(e.innerHTML=""),Je(t.type=="template"?e.content:e,ce(p)?p:[p],t,n,o,b=="foreignObject"?"http://www.w3.org/1999/xhtml":a,r,s,r?r[0]:n.__k&&G(n,0),i,l),r!=null)for(_=r.length;_--;)ye(r[_]);i||(_="value",b=="progress"&&f==null?e.removeAttribute("value"):f!=null&&(f!==e[_]||b=="progress"&&!f||b=="option"&&f!=v[_])&&ae(e,_,f,v[_],a),_="checked",k!=null&&k!=e[_]&&ae(e,_,k,v[_],a))}return e}function ke(e,t,n){try{if(typeof e=="function"){var o=typeof e.__u=="function";o&&e.__u(),o&&t==null||(e.__u=e(t))}else e.current=t}catch(a){w.__e(a,n)}}function Ze(e,t,n){var o,a;if(w.unmount&&w.unmount(e),(o=e.ref)&&(o.current&&o.current!=e.__e||ke(o,null,t)),(o=e.__c)!=null){if(o.componentWillUnmount)try{o.componentWillUnmount()}catch(r){w.__e(r,t)}o.base=o.__P=null}if(o=e.__k)for(a=0;a<o.length;a++)o[a]&&Ze(o[a],t,n||typeof e.type!="function");n||ye(e.__e),e.__c=e.__=e.__e=void 0}function ln(e,t,n){return this.constructor(e,n)}function xe(e,t,n){var o,a,r,s;t==document&&(t=document.documentElement),w.__&&w.__(e,t),a=(o=typeof n=="function")?null:n&&n.__k||t.__k,r=[],s=[],we(t,e=(!o&&n||t).__k=ue(_e,null,[e]),a||X,X,t.namespaceURI,!o&&n?[n]:a?null:t.firstChild?le.call(t.childNodes):null,r,!o&&n?n:a?a.__e:t.firstChild,o,s),Xe(r,e,s)}le=Ke.slice,w={__e:function(e,t,n,o){for(var a,r,s;t=t.__;)if((a=t.__c)&&!a.__)try{if((r=a.constructor)&&r.getDerivedStateFromError!=null&&(a.setState(r.getDerivedStateFromError(e)),s=a.__d),a.componentDidCatch!=null&&(a.componentDidCatch(e,o||{}),s=a.__d),s)return a.__E=a}catch(i){e=i}throw e}},Be=0,tn=function(e){return e!=null&&e.constructor==null},Q.prototype.setState=function(e,t){var n;n=this.__s!=null&&this.__s!=this.state?this.__s:this.__s=H({},this.state),typeof e=="function"&&(e=e(H({},n),this.props)),e&&H(n,e),e!=null&&this.__v&&(t&&this._sb.push(t),je(this))},Q.prototype.forceUpdate=function(e){this.__v&&(this.__e=!0,e&&this.__h.push(e),je(this))},Q.prototype.render=_e,j=[],qe=typeof Promise=="function"?Promise.prototype.then.bind(Promise.resolve()):setTimeout,Ve=function(e,t){return e.__v.__b-t.__v.__b},ie.__r=0,Ge=/(PointerCapture)$|Capture$/i,be=0,$e=We(!1),ge=We(!0),nn=0;var tt=function(e,t,n,o){var a;t[0]=0;for(var r=1;r<t.length;r++){var s=t[r++],i=t[r]?(t[0]|=s?1:2,n[t[r++]]):t[++r];s===3?o[0]=i:s===4?o[1]=Object.assign(o[1]||{},i):s===5?(o[1]=o[1]||{})[t[++r]]=i:s===6?o[1][t[++r]]+=i+"":s?(a=e.apply(i,tt(e,i,n,["",null])),o.push(a),i[0]?t[0]|=2:(t[r-2]=0,t[r]=a)):o.push(i)}return o},et=new Map;function nt(e){var t=et.get(this);return t||(t=new Map,et.set(this,t)),(t=tt(this,t.get(e)||(t.set(e,t=(function(n){for(var o,a,r=1,s="",i="",l=[0],_=function(p){r===1&&(p||(s=s.replace(/^\s*\n\s*|\s*\n\s*$/g,"")))?l.push(0,p,s):r===3&&(p||s)?(l.push(3,p,s),r=2):r===2&&s==="..."&&p?l.push(4,p,0):r===2&&s&&!p?l.push(5,0,!0,s):r>=5&&((s||!p&&r===5)&&(l.push(r,0,s,a),r=6),p&&(l.push(r,p,0,a),r=6)),s=""},d=0;d<n.length;d++){d&&(r===1&&_(),_(d));for(var u=0;u<n[d].length;u++)o=n[d][u],r===1?o==="<"?(_(),l=[l],r=3):s+=o:r===4?s==="--"&&o===">"?(r=1,s=""):s=o+s[0]:i?o===i?i="":s+=o:o==='"'||o==="'"?i=o:o===">"?(_(),r=1):r&&(o==="="?(r=5,a=s,s=""):o==="/"&&(r<5||n[d][u+1]===">")?(_(),r===3&&(l=l[0]),r=l,(l=l[0]).push(2,0,r),r=0):o===" "||o==="	"||o===`
`||o==="\r"?(_(),r=2):s+=o),r===3&&s==="!--"&&(r=4,l=l[0])}return _(),l})(e)),t),arguments,[])).length>1?t:t[0]}var c=nt.bind(ue);var Y,E,Se,ot,Z=0,_t=[],A=w,rt=A.__b,at=A.__r,st=A.diffed,it=A.__c,lt=A.unmount,ct=A.__;function Te(e,t){A.__h&&A.__h(E,e,Z||t),Z=0;var n=E.__H||(E.__H={__:[],__h:[]});return e>=n.__.length&&n.__.push({}),n.__[e]}function T(e){return Z=1,cn(mt,e)}function cn(e,t,n){var o=Te(Y++,2);if(o.t=e,!o.__c&&(o.__=[n?n(t):mt(void 0,t),function(i){var l=o.__N?o.__N[0]:o.__[0],_=o.t(l,i);l!==_&&(o.__N=[_,o.__[1]],o.__c.setState({}))}],o.__c=E,!E.__f)){var a=function(i,l,_){if(!o.__c.__H)return!0;var d=o.__c.__H.__.filter(function(p){return!!p.__c});if(d.every(function(p){return!p.__N}))return!r||r.call(this,i,l,_);var u=o.__c.props!==i;return d.forEach(function(p){if(p.__N){var m=p.__[0];p.__=p.__N,p.__N=void 0,m!==p.__[0]&&(u=!0)}}),r&&r.call(this,i,l,_)||u};E.__f=!0;var r=E.shouldComponentUpdate,s=E.componentWillUpdate;E.componentWillUpdate=function(i,l,_){if(this.__e){var d=r;r=void 0,a(i,l,_),r=d}s&&s.call(this,i,l,_)},E.shouldComponentUpdate=a}return o.__N||o.__}function R(e,t){var n=Te(Y++,3);!A.__s&&ft(n.__H,t)&&(n.__=e,n.u=t,E.__H.__h.push(n))}function U(e){return Z=5,pt(function(){return{current:e}},[])}function pt(e,t){var n=Te(Y++,7);return ft(n.__H,t)&&(n.__=e(),n.__H=t,n.__h=e),n.__}function dt(e,t){return Z=8,pt(function(){return e},t)}function un(){for(var e;e=_t.shift();)if(e.__P&&e.__H)try{e.__H.__h.forEach(pe),e.__H.__h.forEach(Ee),e.__H.__h=[]}catch(t){e.__H.__h=[],A.__e(t,e.__v)}}A.__b=function(e){E=null,rt&&rt(e)},A.__=function(e,t){e&&t.__k&&t.__k.__m&&(e.__m=t.__k.__m),ct&&ct(e,t)},A.__r=function(e){at&&at(e),Y=0;var t=(E=e.__c).__H;t&&(Se===E?(t.__h=[],E.__h=[],t.__.forEach(function(n){n.__N&&(n.__=n.__N),n.u=n.__N=void 0})):(t.__h.forEach(pe),t.__h.forEach(Ee),t.__h=[],Y=0)),Se=E},A.diffed=function(e){st&&st(e);var t=e.__c;t&&t.__H&&(t.__H.__h.length&&(_t.push(t)!==1&&ot===A.requestAnimationFrame||((ot=A.requestAnimationFrame)||_n)(un)),t.__H.__.forEach(function(n){n.u&&(n.__H=n.u),n.u=void 0})),Se=E=null},A.__c=function(e,t){t.some(function(n){try{n.__h.forEach(pe),n.__h=n.__h.filter(function(o){return!o.__||Ee(o)})}catch(o){t.some(function(a){a.__h&&(a.__h=[])}),t=[],A.__e(o,n.__v)}}),it&&it(e,t)},A.unmount=function(e){lt&&lt(e);var t,n=e.__c;n&&n.__H&&(n.__H.__.forEach(function(o){try{pe(o)}catch(a){t=a}}),n.__H=void 0,t&&A.__e(t,n.__v))};var ut=typeof requestAnimationFrame=="function";function _n(e){var t,n=function(){clearTimeout(o),ut&&cancelAnimationFrame(t),setTimeout(e)},o=setTimeout(n,35);ut&&(t=requestAnimationFrame(n))}function pe(e){var t=E,n=e.__c;typeof n=="function"&&(e.__c=void 0,n()),E=t}function Ee(e){var t=E;e.__c=e.__(),E=t}function ft(e,t){return!e||e.length!==t.length||t.some(function(n,o){return n!==e[o]})}function mt(e,t){return typeof t=="function"?t(e):t}var h="../evenkeel/v1",Ae="evenkeel-authorization",W=class extends Error{constructor(t,n){super(n),this.status=t}},ht=0,ee=()=>Date.now()+ht,te=JSON.parse(sessionStorage.getItem(Ae)||"{}");function $t(e){te=e,sessionStorage.setItem(Ae,JSON.stringify(e))}function gt(){te={},sessionStorage.removeItem(Ae)}function De(){return Object.keys(te).length>0}function vt(e,t){let n=new TextEncoder().encode(`${e}:${t}`);return{Authorization:`Basic ${btoa(String.fromCharCode(...n))}`}}function bt(e){return{"X-Auth-Token":e}}async function Ce(e,t,n,o=15e3){let a={Accept:"application/json",...te};n!==void 0&&(a["Content-Type"]="application/json");let r;try{r=await fetch(t,{method:e,headers:a,body:n===void 0?void 0:JSON.stringify(n),credentials:"omit",cache:"no-store",signal:AbortSignal.timeout(o)})}catch(l){throw new W(0,`no answer from this controller: ${l.message}`)}pn(r);let s=await r.text(),i=s?xt(s):null;if(!r.ok)throw new W(r.status,St(i)||`HTTP ${r.status}`);return i}function pn(e){let t=Date.parse(e.headers.get("Date")||"");t&&Math.abs(t+500-ee())>1e3&&(ht=t+500-Date.now())}async function yt(e,t,{told:n,at:o,signal:a,silentMs:r}){let s=new AbortController,i=()=>s.abort();a.addEventListener("abort",i);let l=setTimeout(i,r);try{let _=await fetch(e,{headers:{Accept:"text/event-stream","Last-Event-ID":String(t),...te},credentials:"omit",cache:"no-store",signal:s.signal});if(!_.ok)throw new W(_.status,St(xt(await _.text()))||`HTTP ${_.status}`);let d=_.body.pipeThrough(new TextDecoderStream).getReader(),u="";for(;;){let{done:p,value:m}=await d.read();if(p)return;clearTimeout(l),l=setTimeout(i,r);let f=(u+m).split(`

`);u=f.pop();let k=[];for(let v of f)for(let $ of v.split(`
`))$.startsWith("id: ")&&o(Number($.slice(4))),$.startsWith("data: ")&&k.push(JSON.parse($.slice(6)));n(k)}}catch(_){throw _ instanceof W?_:new W(0,`no answer from this controller: ${_.message}`)}finally{clearTimeout(l),a.removeEventListener("abort",i),s.abort()}}var wt=(e,t,n)=>Ce("POST",e,t,n),g=e=>Ce("GET",e),kt=(e,t)=>Ce("PUT",e,t);function xt(e){try{return JSON.parse(e)}catch{return null}}function St(e){return e&&(e.faultstring||e.reason||e.error&&e.error.message||e.detail)}var Tt=new URLSearchParams(location.search).get("demo"),dn="../demo/controls",fn=2e3;async function Et(e){let t=await fetch(dn,{method:e?"POST":"GET",headers:{"X-Demo-Token":Tt,"Content-Type":"application/json"},body:e&&JSON.stringify(e),cache:"no-store"}),n=await t.json();if(!t.ok)throw new Error(n.reason||`HTTP ${t.status}`);return n}function At(){let[e,t]=T(null),[n,o]=T(""),[a,r]=T("");if(R(()=>{if(!Tt)return;let l=()=>Et().then(t,()=>t(null));l();let _=setInterval(()=>document.hidden||l(),fn);return()=>clearInterval(_)},[]),!e)return null;let s=n||e.agents[0].host,i=(l,_)=>c`<button
      type="button"
      disabled=${!e.offered}
      onClick=${()=>Et({action:_,host:s}).then(d=>(t(d),r("")),d=>r(d.message))}
    >
      ${l}
    </button>`;return c`<section class="demo" aria-label="Demo">
    <strong>Demo</strong>
    <label
      >Agent${" "}
      <select value=${s} onChange=${l=>o(l.target.value)}>
        ${e.agents.map(l=>c`<option value=${l.host}>${l.host}, ${l.state}</option>`)}
      </select></label
    >
    ${i("Kill it","kill")} ${i("Freeze it","freeze")} ${i("Cut the device off","cut")} ${i("Heal everything","heal")}
    <span role="status">${a||(e.offered?`Device: ${e.device}`:"It tells its story first; the buttons come at its end.")}</span>
  </section>`}var mn=1e4,hn=2e3,$n=200,gn=100,vn=4e4,Dt=[1e3,1e3,2e3,5e3];function Ct(){let[e,t]=T({events:[],error:null,newest:0,connected:!1});return R(()=>{let n=new AbortController,o=null,a=0,r=i=>{a=0,t(l=>bn(l,i))};async function s(){for(;!n.signal.aborted;){try{if(o===null){let i=(await g(`${h}/events?limit=${gn}&newest=true`)).events;o=i.length?i[0].id-1:0,r(i)}await yt(`${h}/events`,o,{told:r,at:i=>o=i,signal:n.signal,silentMs:vn})}catch(i){if(n.signal.aborted||(t(l=>({...l,error:i,connected:!1})),i.status===401||i.status===403))return}await new Promise(i=>setTimeout(i,Dt[Math.min(a++,Dt.length-1)]))}}return s(),()=>n.abort()},[]),e}function bn(e,t){let n=new Set(e.events.map(r=>r.id)),o=t.filter(r=>!n.has(r.id));return!o.length&&e.connected&&!e.error?e:{events:[...o,...e.events].sort((r,s)=>s.id-r.id).slice(0,$n),error:null,connected:!0,newest:e.newest+o.length}}function D(e,t,n=[]){let[o,a]=T({data:null,error:null,at:0}),r=U(0),s=U(0),i=dt(async()=>{let l=++r.current;s.current=Date.now();try{let _=await e();l===r.current&&a({data:_,error:null,at:ee()})}catch(_){l===r.current&&a(d=>({...d,error:_}))}},n);return R(()=>(s.current=0,()=>{r.current+=1}),[i]),R(()=>{let l=setTimeout(i,Math.max(0,s.current+hn-Date.now())),_=setInterval(()=>document.hidden||i(),mn);return()=>{clearTimeout(l),clearInterval(_)}},[i,t]),{...o,again:i}}var yn=new Set(["ACTIVE","ONLINE","up","connected","reached","served","closed"]),wn=new Set(["ERROR","OFFLINE","silent","forced_down","unserved","halted","out of reach","failed"]);function y({value:e}){let t=yn.has(e)?"good":wn.has(e)?"bad":"other",n={good:"●",bad:"▲",other:"◌"}[t];return c`<span class="status ${t}"><span aria-hidden="true">${n}</span> ${e}</span>`}var C=e=>e&&/^([0-9a-f]{8}-|[0-9a-f]{32}$)/.test(e)?e.slice(0,8):e;function B(e){if(!e)return"";let t=Math.max(0,(ee()-Date.parse(e.endsWith("Z")?e:`${e}Z`))/1e3);return t<120?`${Math.round(t)} s`:t<7200?`${Math.round(t/60)} min`:t<172800?`${Math.round(t/3600)} h`:`${Math.round(t/86400)} d`}var Pt=e=>`${Math.max(0,e/1e3).toFixed(1)} s`,Pe=e=>e.replace("T"," ").slice(0,19);function Oe(e){for(let[t,n]of[["G",1e9],["M",1e6],["k",1e3]])if(e>=n)return`${(e/n).toPrecision(3)} ${t}`;return e>=10||Number.isInteger(e)?String(Math.round(e)):e.toPrecision(2)}function K({facts:e}){return c`<dl class="facts">
    ${e.filter(([,t])=>t!=="").map(([t,n])=>c`<div><dt>${t}</dt><dd>${n}</dd></div>`)}
  </dl>`}function x({command:e,path:t,method:n="GET"}){return c`<p class="also">
    The same: <code>${e}</code>${t&&c` · <code>${n} ${t.replace(/^\.\./,"")}</code>`}
  </p>`}function S({error:e,loading:t}){return e?c`<p class="failure" role="alert">${e.message}</p>`:t&&c`<p>Loading…</p>`}function O({caption:e,columns:t,rows:n,empty:o}){return n?n.length?c`<div class="scroll" tabindex="0" role="region" aria-label=${e}>
    <table>
      <caption>
        ${e}
      </caption>
      <thead>
        <tr>
          ${t.map(([a])=>c`<th scope="col">${a}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${n.map(a=>c`<tr key=${a.id||a.name}>${t.map(([,r])=>c`<td>${r(a)}</td>`)}</tr>`)}
      </tbody>
    </table>
  </div>`:c`<p class="empty">${o}</p>`:null}function ne({label:e,about:t,question:n,path:o,body:a,command:r,done:s,send:i=kt}){let[l,_]=T(!1),[d,u]=T(null),p=U(null);R(()=>{l&&p.current.showModal()},[l]);async function m(){try{await i(o,a),u(null),_(!1),s()}catch(f){u(f)}}return c`<button type="button" onClick=${()=>_(!0)} aria-label=${t?`${e} ${t}`:null}>${e}</button>
    ${l&&c`<dialog ref=${p} onClose=${()=>_(!1)} aria-label=${t?`${e} ${t}`:e}>
      <p>${n}</p>
      ${r&&c`<p class="also">The same: <code>${r}</code></p>`}
      <${S} error=${d} />
      <button type="button" class="confirm" onClick=${m}>${e}</button>
      <button type="button" onClick=${()=>_(!1)}>Cancel</button>
    </dialog>`}`}var de=50,Ot=e=>`${e.environment}/${e.group_number}`,Rt=e=>`${e.devices.filter(t=>t.reachable).length} of ${e.devices.length}`;function Nt({live:e}){let{data:t,error:n,at:o,again:a}=D(async()=>(await g(`${h}/agents`)).agents,e.newest);return c`<h1>Agents</h1>
    <${S} error=${n} loading=${!t} />
    <${O} caption="Agents" columns=${[["Host",s=>c`<a href="#/agents/${s.id}">${s.host}</a>`],["Device group",Ot],["State",s=>c`<${y} value=${s.state} />`],["Lease",s=>Lt(s,o)],["Last report",s=>B(s.reported_at)],["Shards",s=>s.acting_shards],["At home",s=>s.home_shards],["Queue",s=>s.queue_depth],["Devices in reach",Rt],["Why not",s=>s.waiting_reason||s.away_reason],["Action",s=>c`<${It} agent=${s} done=${a} />`]]} rows=${t} empty="No agent has registered yet. evenkeel-agent on a host that reaches the devices does." />
    <${x} command="evenkeel agent list" path="${h}/agents" />`}function Lt(e,t){return e.alive&&e.session_expires_at?`${Pt(Date.parse(`${e.session_expires_at}Z`)-t)} left`:e.silent_since?`silent for ${B(e.silent_since)}`:"none"}function It({agent:e,done:t}){let n=e.admin_state_up;return c`<${ne}
    label=${n?"Drain":"Undrain"}
    about=${e.host}
    question=${n?`Drain ${e.host}? Its ${e.acting_shards} shards are handed over to other agents, and it gets no new ones.`:`Put ${e.host} back into service? Its shards come home.`}
    path="${h}/agents/${e.id}/${n?"drain":"undrain"}"
    command="evenkeel agent ${n?"drain":"undrain"} ${e.host}"
    done=${t}
  />`}function Ht({id:e,live:t}){async function n(){let[l,_,d]=await Promise.all([g(`${h}/agents/${e}`),g(`${h}/shards?agent_id=${e}`),g(`${h}/agents/${e}/loadbalancers?limit=${de}`)]);return{agent:l.agent,shards:_.shards.filter(u=>u.project_id),balancers:d.loadbalancers}}let{data:o,error:a,at:r,again:s}=D(n,t.newest,[e]),i=o&&o.agent;return c`<p><a href="#/agents">All agents</a></p>
    <h1>${i?i.host:C(e)}</h1>
    <${S} error=${a} loading=${!o} />
    ${i&&c`<${K}
        facts=${[["State",c`<${y} value=${i.state} />`],["Device group",Ot(i)],["Lease",Lt(i,r)],["Last report",B(i.reported_at)],["Shards that it acts for",i.acting_shards],["Shards whose home it is",i.home_shards],["Queue",i.queue_depth],["Devices in reach",Rt(i)],["Why shards wait",i.waiting_reason||i.away_reason],["Device driver",i.device_driver]]}
      />
      <p class="actions"><${It} agent=${i} done=${s} />
      ${i.away_shards>0&&c`<${ne}
        label="Fail back"
        about=${i.host}
        question="Hand the ${i.away_shards} shards whose home is ${i.host} back to it?"
        path="${h}/agents/${e}/failback"
        command="evenkeel agent failback ${i.host}"
        done=${s}
      />`}</p>
      <h2>Devices as it sees them</h2>
      <${O}
        caption="Devices"
        columns=${[["Device",l=>l.name],["Reached",l=>c`<${y} value=${l.reachable?"reached":"out of reach"} />`],["Failover",l=>l.failover_state],["Config sync",l=>l.sync_state],["Version",l=>l.version],["Problem",l=>l.problem]]}
        rows=${i.devices}
        empty="It has not reported a device yet."
      />
      <h2>Shards</h2>
      <${O}
        caption="Shards"
        columns=${[["Tenant",l=>c`<span title=${l.project_id}>${C(l.project_id)}</span>`],["Epoch",l=>l.epoch],["It is",l=>kn(l,e)],["Served",l=>c`<${y} value=${l.served?"served":"unserved"} />`]]}
        rows=${o.shards.slice(0,de)}
        empty="It has no tenant."
      />
      ${o.shards.length>de&&c`<p>${o.shards.length-de} more: <code>evenkeel shard list --agent ${i.host}</code></p>`}
      <h2>Load balancers</h2>
      <${O}
        caption="Load balancers"
        columns=${[["Name",l=>c`<a href="#/loadbalancers/${l.id}">${l.name||C(l.id)}</a>`],["VIP",l=>l.vip_address],["Provisioning",l=>c`<${y} value=${l.provisioning_status} />`],["Operating",l=>c`<${y} value=${l.operating_status} />`]]}
        rows=${o.balancers}
        empty="None."
      />`}
    <${x} command="evenkeel agent show ${i?i.host:e}" path="${h}/agents/${e}" />`}function kn(e,t){let n=[];return e.acting_agent_id===t&&n.push("acting agent"),e.home_agent_id===t&&n.push("home"),n.join(", ")}var xn=async()=>(await g(`${h}/topology`)).topology;function Mt({live:e}){let{data:t,error:n}=D(xn,e.newest),o=t&&t.groups.flatMap(r=>r.devices.map(s=>({...s,id:`${r.environment}/${r.group_number}/${s.name}`,group:r})));return c`<h1>Devices</h1>
    <p>What agents say of the devices of their group: of several the one that reaches it.</p>
    <${S} error=${n} loading=${!t} />
    <${O} caption="Devices" columns=${[["Device",r=>r.name],["Device group",r=>`${r.group.environment}/${r.group.group_number}`],["Type",r=>r.group.device_driver],["State",r=>c`<${y} value=${r.reachable?"reached":"out of reach"} />`],["Failover",r=>r.failover_state],["Config sync",r=>r.sync_state],["Version",r=>r.version],["Reached by",r=>r.reached_by.join(", ")],["Not reached by",r=>r.missed_by.join(", ")],["Problem",r=>r.problem]]} rows=${o} empty="No agent has reported a device yet." />
    <${x} command="evenkeel device list" path="${h}/topology" />`}function Ft({live:e}){let{data:t,error:n}=D(async()=>(await g(`${h}/controllers`)).controllers,e.newest);return c`<h1>Controllers</h1>
    <p>They are all alike and keep nothing: any of them may end. A silent one is listed for ten minutes.</p>
    <${S} error=${n} loading=${!t} />
    <${O} caption="Controllers" columns=${[["URL",a=>a.url],["Host",a=>a.host],["State",a=>c`<${y} value=${a.alive?"up":"silent"} />`],["Message broker",a=>c`<${y} value=${a.message_broker==="connected"?"connected":"out of reach"} /> ${a.message_broker==="connected"?"":a.message_broker}`],["Version",a=>a.version],["Up for",a=>a.alive?B(a.started_at):""],["Seen",a=>`${B(a.seen_at)} ago`]]} rows=${t} empty="None has been seen yet." />
    <${x} command="evenkeel controller list" path="${h}/controllers" />`}function jt({live:e}){let{data:t,error:n,again:o}=D(async()=>(await g(`${h}/environments`)).environments,e.newest);return c`<h1>Environments</h1>
    <${S} error=${n} loading=${!t} />
    <${O} caption="Environments" columns=${[["Name",r=>r.name],["Device driver",r=>r.device_driver],["Failback",r=>r.failback],["Circuit breaker",r=>r.halted?c`<${y} value="halted" /> ${r.halted}`:c`<${y} value="closed" />`],["Opens at",r=>`${r.breaker_agents} agents and ${Math.round(r.breaker_share*100)} % silent`],["Action",r=>r.halted&&c`<${Sn} row=${r} done=${o} />`]]} rows=${t} empty="There is no environment yet." />
    <${x} command="evenkeel environment list" path="${h}/environments" />`}function Sn({row:e,done:t}){return c`<${ne}
    label="Resume"
    about=${e.name}
    command="evenkeel environment resume ${e.name}"
    question="Are the silent agents of ${e.name} lost for good? Their shards move to others."
    path="${h}/environments/${e.name}/resume"
    done=${t}
  />`}function oe({events:e}){return e.length?c`<ol class="events">
    ${e.map(t=>c`<li key=${t.id}>
        <time>${t.at.replace("T"," ").slice(0,19)}</time>${" "}<span class="kind">${t.kind}</span>${" "}
        <span>${t.load_balancer_id?c`<a href="#/loadbalancers/${t.load_balancer_id}">${t.text}</a>`:t.text}</span>
      </li>`)}
  </ol>`:c`<p>No events yet.</p>`}function Ut({live:e}){return c`<h1>Events</h1>
    <p>New ones appear at the top, times are UTC.</p>
    <${S} error=${e.error} />
    <div aria-live="polite"><${oe} events=${e.events} /></div>
    <${x} command="evenkeel events --follow" path="${h}/events?newest=true" />`}var q="../v2/lbaas",Wt=50,En=/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,Tn=/^[0-9.]{7,15}$|:/;function An(e,t){let n=new URLSearchParams({limit:Wt});if(t){let o=e==="any"?En.test(t)?"id":Tn.test(t)?"vip_address":"name":e;n.set(o,t)}return n}function Bt({live:e}){let[t,n]=T(""),[o,a]=T("any"),[r,s]=T(""),i=An(o,t.trim());r&&i.set("provisioning_status",r);let l=`${q}/loadbalancers?${i}`,{data:_,error:d}=D(async()=>(await g(l)).loadbalancers,e.newest,[l]),u=[["Name",p=>c`<a href="#/loadbalancers/${p.id}">${p.name||C(p.id)}</a>`],["VIP",p=>p.vip_address],["Provisioning",p=>c`<${y} value=${p.provisioning_status} />`],["Operating",p=>c`<${y} value=${p.operating_status} />`],["Project",p=>c`<span title=${p.project_id}>${C(p.project_id)}</span>`],["Environment",p=>p.provider],["Reason",p=>p.status_reason||p.operating_reason]];return c`<h1>Load balancers</h1>
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
          ${["ERROR","PENDING_CREATE","PENDING_UPDATE","PENDING_DELETE","ACTIVE"].map(p=>c`<option>${p}</option>`)}
        </select></label
      >
    </form>
    <${S} error=${d} loading=${!_} />
    <${O} caption="Load balancers (at most ${Wt})" columns=${u} rows=${_} empty="None is like that." />
    <${x} command="evenkeel loadbalancer list" path=${l} />`}var Re={listener:["listener","listener","listener",e=>`listeners/${e}`],pool:["pool","pool","pool",e=>`pools/${e}`],member:["member","member","member",(e,t)=>`pools/${t}/members/${e}`],healthmonitor:["health monitor","healthmonitor","healthmonitor",e=>`healthmonitors/${e}`],l7policy:["L7 policy","l7policy","l7policy",e=>`l7policies/${e}`],rule:["L7 rule","rule","l7rule",(e,t)=>`l7policies/${t}/rules/${e}`]},Ne={listeners:"listener",pools:"pool",members:"member",l7policies:"l7policy",rules:"rule"},Vt=new Set(["member","rule"]),Dn=new Set(["provisioning_status","operating_status"]),Le=(e,t,n,o)=>`#/loadbalancers/${e}/${t}/${n}${Vt.has(t)?`/${o}`:""}`;function Ie({node:e,kind:t,root:n,parent:o}){let a=Object.entries(Ne).flatMap(([i,l])=>(e[i]||[]).map(_=>[l,_]));e.health_monitor&&a.push(["healthmonitor",e.health_monitor]);let r=e.address?` ${e.address}:${e.protocol_port}`:"",s=e.name||e.type||C(e.id);return c`<ul class="tree">
    <li>
      <span class="kind">${t?Re[t][0]:"load balancer"}</span>${" "}
      ${t?c`<a href=${Le(n,t,e.id,o)}>${s}${r}</a>`:s}${" "}
      <${y} value=${e.provisioning_status} />${e.operating_status&&c` <${y} value=${e.operating_status} />`}
      ${a.map(([i,l])=>c`<${Ie} node=${l} kind=${i} root=${n} parent=${e.id} />`)}
    </li>
  </ul>`}function Gt({root:e,kind:t,id:n,parent:o,live:a}){let[r,s,i,l]=Re[t]||Re.listener,{data:_,error:d}=D(async()=>(await g(`${q}/${l(n,o)}`))[s],a.newest,[t,n,o]);return c`<p><a href="#/loadbalancers/${e}">The load balancer</a></p>
    <h1>${r} ${_?_.name||C(n):C(n)}</h1>
    <${S} error=${d} loading=${!_} />
    ${_&&c`<${K} facts=${Object.entries(_).map(([u,p])=>[u,Cn(u,p,e,n,_)])} />`}
    <${x}
      command="openstack loadbalancer ${i} show ${Vt.has(t)?`${o} `:""}${n}"
      path="${q}/${l(n,o)}"
    />`}var qt={default_pool_id:"pool",redirect_pool_id:"pool",healthmonitor_id:"healthmonitor",listener_id:"listener",pool_id:"pool"};function Cn(e,t,n,o){return Dn.has(e)?c`<${y} value=${t} />`:t==null||t===""?"–":qt[e]?c`<a href=${Le(n,qt[e],t,o)}>${C(t)}</a>`:Array.isArray(t)&&Ne[e]&&t.every(a=>a&&a.id)?t.length?t.map(a=>c`<a href=${Le(n,Ne[e],a.id,o)}>${C(a.id)}</a>${" "}`):"none":typeof t=="object"?JSON.stringify(t)==="[]"?"none":c`<code>${JSON.stringify(t)}</code>`:String(t)}var Kt=240,He=60,Pn=[["Connections per second",["connections"]],["Open connections",["active_connections"]],["Bytes per second",["bytes_in","bytes_out"]],["Errors per second",["request_errors"]],["Members online",["members_online","members"]]],zt={bytes_in:"in",bytes_out:"out",members_online:"online",members:"of"};function Jt({id:e,turn:t}){let n=`${h}/loadbalancers/${e}/series`,{data:o}=D(()=>g(n),t,[e]);if(!o||!o.points||o.points.length<2)return null;let a=o.points[0].at.slice(11,16);return c`<h2>Traffic since ${a} UTC</h2>
    <div class="charts">${Pn.map(([r,s])=>c`<${On} title=${r} names=${s} points=${o.points} />`)}</div>
    <${x} command="evenkeel loadbalancer series ${e}" path=${n} />`}function On({title:e,names:t,points:n}){let o=Math.max(1e-9,...n.flatMap(l=>t.map(_=>l[_]||0))),a=n[n.length-1],r=l=>(l*Kt/(n.length-1)).toFixed(1),s=l=>(He-2-(l||0)/o*(He-6)).toFixed(1),i=t.map(l=>`${zt[l]?`${zt[l]} `:""}${Oe(a[l]||0)}`).join(", ");return c`<figure class="chart">
    <figcaption>${e}: <strong>${i}</strong></figcaption>
    <svg viewBox="0 0 ${Kt} ${He}" role="img" aria-label="${e}, now ${i}, at most ${Oe(o)}" preserveAspectRatio="none">
      ${t.map((l,_)=>c`<polyline class="series-${_}" points=${n.map((d,u)=>`${r(u)},${s(d[l])}`).join(" ")} />`)}
    </svg>
  </figure>`}function Qt({id:e,live:t}){async function n(){let[r,s,i,l,_]=await Promise.all([g(`${q}/loadbalancers/${e}`),g(`${q}/loadbalancers/${e}/status`),g(`${h}/loadbalancers/${e}/agent`),g(`${h}/loadbalancers/${e}/history`),g(`${h}/events?object_id=${e}&newest=true&limit=20`)]);return{root:r.loadbalancer,tree:s.statuses.loadbalancer,hosting:i.hosting,history:l.history,events:_.events.slice().reverse()}}let{data:o,error:a}=D(n,t.newest,[e]);return c`<p><a href="#/loadbalancers">All load balancers</a></p>
    <h1>${o?o.root.name||C(e):C(e)}</h1>
    <${S} error=${a} loading=${!o} />
    ${o&&c`<${Rn} data=${o} />
      <${Jt} id=${e} turn=${o.hosting.applied_revision} />
      <h2>Objects</h2>
      <${Ie} node=${o.tree} root=${e} />
      <${Ln} id=${e} />
      <${Hn} rows=${o.history} id=${e} />
      <h2>Events</h2>
      <${oe} events=${o.events} />`}
    <${x} command="evenkeel explain ${e}" path="${h}/loadbalancers/${e}/agent" />`}function Rn({data:{root:e,hosting:t}}){let n=t.revision-t.applied_revision;return c`<${K}
    facts=${[["VIP",e.vip_address],["Project",e.project_id],["Provisioning",c`<${y} value=${t.provisioning_status} /> ${t.status_reason}`],["Operating",c`<${y} value=${t.operating_status} /> ${t.operating_reason}`],["Desired revision",t.revision],["On the devices",`${t.applied_revision}${n?` (${n} behind)`:" (the same)"}`],["Written by",t.acting?c`<a href="#/agents/${t.acting.id}">${t.acting.host}</a>, epoch ${t.shard.epoch}`:"no agent"],["Home",t.home?c`<a href="#/agents/${t.home.id}">${t.home.host}</a>`:"none"],["Before it in line",t.ahead]]}
  />`}var Nn=3e4;function Ln({id:e}){let[t,n]=T({plan:null,error:null,asking:!1});async function o(){n({plan:null,error:null,asking:!0});try{n({plan:(await wt(`${h}/loadbalancers/${e}/plan`,void 0,Nn)).plan,error:null,asking:!1})}catch(a){n({plan:null,error:a,asking:!1})}}return c`<section aria-labelledby="difference">
    <h2 id="difference">Desired and observed</h2>
    <p><button type="button" onClick=${o} disabled=${t.asking}>Compare with the devices</button>${" "}
      Its agent reads the devices and says what its next pass would change. Nothing is changed.</p>
    <div aria-live="polite">
      ${t.asking&&c`<p>Asking the agent…</p>`}
      <${S} error=${t.error} />
      ${t.plan&&t.plan.devices.map(a=>c`<${In} key=${a.device} device=${a} host=${t.plan.host} />`)}
    </div>
    <${x} command="evenkeel plan ${e}" path="${h}/loadbalancers/${e}/plan" method="POST" />
  </section>`}function In({device:e,host:t}){let n=e.operations.flatMap((a,r)=>(a.attributes.length?a.attributes:[{name:"",present:"",wanted:""}]).map((i,l)=>({id:`${r}.${l}`,step:a,attribute:i}))),o=[["Would",({step:a})=>a.verb],["Object",({step:a})=>c`${a.type} <strong>${a.name}</strong>${a.note&&` (${a.note})`}`],["Attribute",({attribute:a})=>a.name],["Observed",({attribute:a})=>a.present],["Desired",({attribute:a})=>a.wanted]];return c`<h3>${e.device}, read by ${t}</h3>
    ${e.problem&&c`<p class="failure">${e.problem}</p>`}
    ${!n.length&&!e.problem?c`<p class="status good"><span aria-hidden="true">●</span> It holds what is desired: no difference.</p>`:c`<${O} caption="Differences on ${e.device}" columns=${o} rows=${n} empty="" />`}
    ${e.more>0&&c`<p>${e.more} more objects differ.</p>`}`}function Hn({rows:e,id:t}){return c`<h2>History</h2>
    <${O} caption="Revisions" columns=${[["Revision",o=>o.revision],["Accepted",o=>c`<time>${Pe(o.accepted_at)}</time>`],["By",o=>Mn(o)],["Request",o=>o.request_id?c`<code>${o.request_id}</code>`:""],["Applied",o=>o.applied_at?c`<time>${Pe(o.applied_at)}</time>`:o.problem?c`<${y} value="failed" /> ${o.problem}`:c`<${y} value="waiting" />`],["Seconds",o=>o.seconds===null?"":o.seconds.toFixed(2)],["By agent",o=>o.host?c`<a href="#/agents/${o.agent_id}">${o.host}</a>`:""],["Epoch",o=>o.epoch]]} rows=${e.map(o=>({...o,id:o.revision}))} empty="No revision is known: it was made before revisions were kept." />
    <${x} command="evenkeel loadbalancer history ${t}" path="${h}/loadbalancers/${t}/history" />`}function Mn(e){return e.request_id?`${e.user||"anybody: no authentication"} ${e.project_id&&`(${C(e.project_id)})`}`:"the controllers (certificate or network)"}function Xt({reason:e,done:t}){let[n,o]=T("password");function a(r){r.preventDefault();let s=new FormData(r.target);$t(n==="password"?vt(s.get("name"),s.get("password")):bt(s.get("token"))),t()}return c`<main class="login">
    <h1>Even Keel</h1>
    <form onSubmit=${a}>
      ${e&&c`<p class="failure" role="alert">${e}</p>`}
      <fieldset>
        <legend>Log in with</legend>
        <label><input type="radio" name="kind" checked=${n==="password"} onChange=${()=>o("password")} /> a password</label>
        <label><input type="radio" name="kind" checked=${n==="token"} onChange=${()=>o("token")} /> a Keystone token</label>
      </fieldset>
      ${n==="password"?c`<label>Name <input name="name" autocomplete="username" required /></label>
            <label>Password <input name="password" type="password" autocomplete="current-password" required /></label>`:c`<label>Token <input name="token" type="password" autocomplete="off" required /></label>`}
      <button type="submit">Log in</button>
    </form>
  </main>`}function Yt({live:e}){let{data:t,error:n}=D(async()=>(await g(`${h}/status`)).status,e.newest);return c`<h1>Overview</h1>
    <${S} error=${n} loading=${!t} />
    ${t&&c`<${Fn} problems=${t.problems} /><${jn} status=${t} />`}
    <h2>Latest events</h2>
    <${oe} events=${e.events.slice(0,8)} />
    <${x} command="evenkeel status" path="${h}/status" />`}function Fn({problems:e}){return e.length?c`<section class="problems" aria-label="Problems">
    <h2>${e.length} ${e.length===1?"problem":"problems"}</h2>
    <ul>
      ${e.map(t=>c`<li>
          <strong>${t.text}</strong>
          <span class="remedy">What helps: <code>${t.remedy}</code></span>
        </li>`)}
    </ul>
  </section>`:c`<p class="status good"><span aria-hidden="true">●</span> Nothing is wrong.</p>`}function jn({status:e}){let t=Object.entries(e.load_balancers).filter(([,a])=>a),o=[["Load balancers",t.reduce((a,[,r])=>a+r,0),t.map(([a,r])=>c`<li><${y} value=${a} /> ${r}</li>`),"#/loadbalancers"],["Agents up",e.agents.up,e.agents.down?c`<li>${e.agents.down} down</li>`:null,"#/agents"],["Shards",e.shards.total,e.shards.unserved?c`<li><${y} value="unserved" /> ${e.shards.unserved}</li>`:null,"#/topology"],["Oldest PENDING",`${e.oldest_pending_seconds} s`,null,"#/loadbalancers"],["Message broker",e.message_broker==="connected"?"connected":"away",null,"#/topology"]];return c`<ul class="cards">
    ${o.map(([a,r,s,i])=>c`<li>
        <a href=${i}><span class="title">${a}</span> <span class="value">${r}</span></a>
        <ul>
          ${s}
        </ul>
      </li>`)}
  </ul>`}var Un=34,P={controller:0,bus:180,agent:310,shard:540,device:740},M={controller:150,bus:100,agent:170,device:260},Wn=P.device+M.device+2,Bn=async()=>(await g(`${h}/topology`)).topology;function en({live:e}){let{data:t,error:n}=D(Bn,e.newest);return c`<h1>Topology</h1>
    <p>A line is a shard: the agent that may write to the devices, with its epoch. At a takeover the line moves and the epoch grows.</p>
    <${S} error=${n} loading=${!t} />
    ${t&&!t.groups.length&&c`<p class="empty">No agent has registered yet.</p>`}
    ${t&&t.groups.map(o=>c`<${Vn} key="${o.environment}/${o.group_number}" group=${o} topology=${t} />`)}
    <${x} command="evenkeel shard list" path="${h}/topology" />`}function qn(e){if(e.shards.length)return e.shards.map(n=>({key:n.id,agent:n.acting_agent_id,text:`${C(n.project_id)} · epoch ${n.epoch}`,served:n.served}));let t=new Set(e.agents.filter(n=>n.alive).map(n=>n.id));return e.lines.map(n=>({key:n.agent_id||"none",agent:n.agent_id,text:`${n.shards} shards · epochs to ${n.newest_epoch}`,served:t.has(n.agent_id)}))}function Vn({group:e,topology:t}){let n=qn(e),{agents:o,devices:a}=e,{controllers:r}=t,i=Math.max(o.length,n.length,a.length,r.length,1)*Un+10,l=(f,k)=>(f+.5)*i/k,_=new Map(o.map((f,k)=>[f.id,l(k,o.length)])),d=i/2,u=t.message_broker==="connected",p=`${e.environment}/${e.group_number}`,m=n.map(f=>`${Zt(o,f.agent)}: ${f.text}`).join("; ");return c`<figure class="topology">
    <figcaption><h2>${p}</h2>${e.halted&&c`<p class="failure">Halted: ${e.halted}. No shard moves.</p>`}</figcaption>
    <div class="scroll" tabindex="0" role="region" aria-label="Topology of ${p}">
    <svg viewBox="0 0 ${Wn} ${i}" role="group" aria-label="Who may write to the devices of ${p}: ${m||"no shards"}">
      ${r.map((f,k)=>{let v=l(k,r.length);return c`<line class=${f.alive?"link":"link cut"} x1=${P.controller+M.controller} y1=${v} x2=${P.bus} y2=${d} />
          <${fe} x=${P.controller} at=${v} width=${M.controller} state=${f.alive?"up":"silent"} text="controller :${f.url.split(":").pop()}" />`})}
      ${o.map(f=>c`<line class=${f.alive?"link":"link cut"} x1=${P.bus+M.bus} y1=${d} x2=${P.agent} y2=${_.get(f.id)} />
          <a href="#/agents/${f.id}"><${fe} x=${P.agent} at=${_.get(f.id)} width=${M.agent} state=${f.state} text="${f.host} · ${f.state}" /></a>`)}
      <${fe} x=${P.bus} at=${d} width=${M.bus} state=${u?"up":"silent"} text="message bus" />
      ${n.map((f,k)=>{let v=l(k,n.length),$=_.get(f.agent),b=P.agent+M.agent;return c`${$!==void 0&&c`<path class="owner ${f.served?"":"cut"}" d="M${b} ${$} C ${b+40} ${$} ${P.shard-40} ${v} ${P.shard} ${v}" />`}
          <text class="shard" data-agent=${Zt(o,f.agent)} x=${P.shard+6} y=${v+4}>${f.text}${$===void 0?" · no agent":""}</text>
          ${a.map((I,N)=>{let F=l(N,a.length);return c`<path class="reach" d="M${P.shard+155} ${v} C ${P.device-30} ${v} ${P.device-30} ${F} ${P.device} ${F}" />`})}`})}
      ${a.map((f,k)=>c`<${fe} x=${P.device} at=${l(k,a.length)} width=${M.device} state=${f.reachable?"up":"silent"} text="${f.name} · ${f.reachable?f.failover_state||"reached":"out of reach"}" />`)}
    </svg>
    </div>
  </figure>`}var Gn=6.6;function fe({x:e,at:t,width:n,state:o,text:a}){let r=Math.floor((n-16)/Gn);return c`<g class="box ${o}" transform="translate(${e} ${t-13})">
    <title>${a}</title>
    <rect width=${n} height="26" rx="5" />
    <text x="8" y="17">${a.length>r?`${a.slice(0,r-1)}…`:a}</text>
  </g>`}function Zt(e,t){let n=e.find(o=>o.id===t);return n?n.host:"no agent"}var me={"":["Overview",Yt],topology:["Topology",en],loadbalancers:["Load balancers",Bt],agents:["Agents",Nt],devices:["Devices",Mt],controllers:["Controllers",Ft],environments:["Environments",jt],events:["Events",Ut]};function Kn(){let e=()=>location.hash.replace(/^#\/?/,"").split("/").map(decodeURIComponent),[t,n]=T(e);return R(()=>{let o=()=>n(e());return addEventListener("hashchange",o),()=>removeEventListener("hashchange",o)},[]),t}function zn(){let[e,t]=T({state:"asking",reason:""});async function n(){try{await g(`${h}/events?limit=1&newest=true`),t({state:"in",reason:""})}catch(o){let a=o.status===401||o.status===403;t({state:a?"out":"away",reason:De()||!a?o.message:""})}}return R(()=>{n()},[]),R(()=>{if(e.state!=="away")return;let o=setTimeout(n,2e3);return()=>clearTimeout(o)},[e]),e.state==="asking"?c`<main><p>Loading…</p></main>`:e.state==="out"?c`<${Xt} reason=${e.reason} done=${n} />`:e.state==="away"?c`<main><p class="failure" role="alert">${e.reason}</p></main>`:c`<${Jn}
    leave=${o=>{gt(),t({state:"out",reason:o})}}
  />`}function Jn({leave:e}){let t=Ct(),[n,o,a,r,s]=Kn(),i=U(null),[l,_]=me[n]||me[""];R(()=>{document.title=`${l} · Even Keel`,i.current&&document.activeElement!==document.body&&i.current.focus()},[n,o,r]),R(()=>{t.error&&t.error.status===401&&e(t.error.message)},[t.error]);function d(){return n==="agents"&&o?c`<${Ht} key=${o} id=${o} live=${t} />`:n!=="loadbalancers"||!o?c`<${_} key=${n} live=${t} />`:a?c`<${Gt} key=${r} root=${o} kind=${a} id=${r} parent=${s} live=${t} />`:c`<${Qt} key=${o} id=${o} live=${t} />`}return c`<a class="skip" href="#main" onClick=${u=>(u.preventDefault(),i.current.focus())}>Skip to content</a>
    <header>
      <span class="brand">Even Keel</span>
      <nav aria-label="Views">
        ${Object.entries(me).map(([u,[p]])=>c`<a href="#/${u}" aria-current=${u===(me[n]?n:"")?"page":null}>${p}</a>`)}
      </nav>
      ${De()&&c`<button type="button" onClick=${()=>e("")}>Log out</button>`}
    </header>
    <${At} />
    ${t.error&&t.error.status!==401&&c`<p class="failure banner" role="alert">${t.error.message}: trying again</p>`}
    <main id="main" tabindex="-1" ref=${i}>
      ${d()}
    </main>`}xe(c`<${zn} />`,document.getElementById("app"));
