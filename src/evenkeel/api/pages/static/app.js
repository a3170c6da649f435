var He,I,cn,kr,ue,rn,ln,dn,un,ft,ut,$t,$n,Ae={},pn=[],Ar=/acit|ex(?:s|g|n|p|$)|rph|grid|ows|mnc|ntw|ine[ch]|zoo|^ord|itera/i,We=Array.isArray;function ie(e,t){for(var n in t)e[n]=t[n];return e}function ht(e){e&&e.parentNode&&e.parentNode.removeChild(e)}function Ve(e,t,n){var o,a,r,s={};for(r in t)r=="key"?o=t[r]:r=="ref"?a=t[r]:s[r]=t[r];if(arguments.length>2&&(s.children=arguments.length>3?He.call(arguments,2):n),typeof e=="function"&&e.defaultProps!=null)for(r in e.defaultProps)s[r]===void 0&&(s[r]=e.defaultProps[r]);return Ue(e,s,o,a,null)}function Ue(e,t,n,o,a){var r={type:e,props:t,key:n,ref:o,__k:null,__:null,__b:0,__e:null,__c:null,constructor:void 0,__v:a??++cn,__i:-1,__u:0};return a==null&&I.vnode!=null&&I.vnode(r),r}function te(e){return e.children}function ke(e,t){this.props=e,this.context=t}function _e(e,t){if(t==null)return e.__?_e(e.__,e.__i+1):null;for(var n;t<e.__k.length;t++)if((n=e.__k[t])!=null&&n.__e!=null)return n.__e;return typeof e.type=="function"?_e(e):null}function mn(e){var t,n;if((e=e.__)!=null&&e.__c!=null){for(e.__e=e.__c.base=null,t=0;t<e.__k.length;t++)if((n=e.__k[t])!=null&&n.__e!=null){e.__e=e.__c.base=n.__e;break}return mn(e)}}function pt(e){(!e.__d&&(e.__d=!0)&&ue.push(e)&&!Be.__r++||rn!=I.debounceRendering)&&((rn=I.debounceRendering)||ln)(Be)}function Be(){for(var e,t,n,o,a,r,s,c=1;ue.length;)ue.length>c&&ue.sort(dn),e=ue.shift(),c=ue.length,e.__d&&(n=void 0,o=void 0,a=(o=(t=e).__v).__e,r=[],s=[],t.__P&&((n=ie({},o)).__v=o.__v+1,I.vnode&&I.vnode(n),_t(t.__P,n,o,t.__n,t.__P.namespaceURI,32&o.__u?[a]:null,r,a??_e(o),!!(32&o.__u),s),n.__v=o.__v,n.__.__k[n.__i]=n,_n(r,n,s),o.__e=o.__=null,n.__e!=a&&mn(n)));Be.__r=0}function fn(e,t,n,o,a,r,s,c,d,l,u){var $,p,m,v,g,w,f,y=o&&o.__k||pn,R=t.length;for(d=Sr(n,t,y,d,R),$=0;$<R;$++)(m=n.__k[$])!=null&&(p=m.__i==-1?Ae:y[m.__i]||Ae,m.__i=$,w=_t(e,m,p,a,r,s,c,d,l,u),v=m.__e,m.ref&&p.ref!=m.ref&&(p.ref&&gt(p.ref,null,m),u.push(m.ref,m.__c||v,m)),g==null&&v!=null&&(g=v),(f=!!(4&m.__u))||p.__k===m.__k?d=hn(m,d,e,f):typeof m.type=="function"&&w!==void 0?d=w:v&&(d=v.nextSibling),m.__u&=-7);return n.__e=g,d}function Sr(e,t,n,o,a){var r,s,c,d,l,u=n.length,$=u,p=0;for(e.__k=new Array(a),r=0;r<a;r++)(s=t[r])!=null&&typeof s!="boolean"&&typeof s!="function"?(d=r+p,(s=e.__k[r]=typeof s=="string"||typeof s=="number"||typeof s=="bigint"||s.constructor==String?Ue(null,s,null,null,null):We(s)?Ue(te,{children:s},null,null,null):s.constructor==null&&s.__b>0?Ue(s.type,s.props,s.key,s.ref?s.ref:null,s.__v):s).__=e,s.__b=e.__b+1,c=null,(l=s.__i=xr(s,n,d,$))!=-1&&($--,(c=n[l])&&(c.__u|=2)),c==null||c.__v==null?(l==-1&&(a>u?p--:a<u&&p++),typeof s.type!="function"&&(s.__u|=4)):l!=d&&(l==d-1?p--:l==d+1?p++:(l>d?p--:p++,s.__u|=4))):e.__k[r]=null;if($)for(r=0;r<u;r++)(c=n[r])!=null&&(2&c.__u)==0&&(c.__e==o&&(o=_e(c)),vn(c,c));return o}function hn(e,t,n,o){var a,r;if(typeof e.type=="function"){for(a=e.__k,r=0;a&&r<a.length;r++)a[r]&&(a[r].__=e,t=hn(a[r],t,n,o));return t}e.__e!=t&&(o&&(t&&e.type&&!t.parentNode&&(t=_e(e)),n.insertBefore(e.__e,t||null)),t=e.__e);do t=t&&t.nextSibling;while(t!=null&&t.nodeType==8);return t}function xr(e,t,n,o){var a,r,s,c=e.key,d=e.type,l=t[n],u=l!=null&&(2&l.__u)==0;if(l===null&&e.key==null||u&&c==l.key&&d==l.type)return n;if(o>(u?1:0)){for(a=n-1,r=n+1;a>=0||r<t.length;)if((l=t[s=a>=0?a--:r++])!=null&&(2&l.__u)==0&&c==l.key&&d==l.type)return s}return-1}function an(e,t,n){t[0]=="-"?e.setProperty(t,n??""):e[t]=n==null?"":typeof n!="number"||Ar.test(t)?n:n+"px"}function Fe(e,t,n,o,a){var r,s;e:if(t=="style")if(typeof n=="string")e.style.cssText=n;else{if(typeof o=="string"&&(e.style.cssText=o=""),o)for(t in o)n&&t in n||an(e.style,t,"");if(n)for(t in n)o&&n[t]==o[t]||an(e.style,t,n[t])}else if(t[0]=="o"&&t[1]=="n")r=t!=(t=t.replace(un,"$1")),s=t.toLowerCase(),t=s in e||t=="onFocusOut"||t=="onFocusIn"?s.slice(2):t.slice(2),e.l||(e.l={}),e.l[t+r]=n,n?o?n.u=o.u:(n.u=ft,e.addEventListener(t,r?$t:ut,r)):e.removeEventListener(t,r?$t:ut,r);else{if(a=="http://www.w3.org/2000/svg")t=t.replace(/xlink(H|:h)/,"h").replace(/sName$/,"s");else if(t!="width"&&t!="height"&&t!="href"&&t!="list"&&t!="form"&&t!="tabIndex"&&t!="download"&&t!="rowSpan"&&t!="colSpan"&&t!="role"&&t!="popover"&&t in e)try{e[t]=n??"";break e}catch{}typeof n=="function"||(n==null||n===!1&&t[4]!="-"?e.removeAttribute(t):e.setAttribute(t,t=="popover"&&n==1?"":n))}}function sn(e){return function(t){if(this.l){var n=this.l[t.type+e];if(t.t==null)t.t=ft++;else if(t.t<n.u)return;return n(I.event?I.event(t):t)}}}function _t(e,t,n,o,a,r,s,c,d,l){var u,$,p,m,v,g,w,f,y,R,A,M,L,q,C,J,k,X=t.type;if(t.constructor!=null)return null;128&n.__u&&(d=!!(32&n.__u),r=[c=t.__e=n.__e]),(u=I.__b)&&u(t);e:if(typeof X=="function")try{if(f=t.props,y="prototype"in X&&X.prototype.render,R=(u=X.contextType)&&o[u.__c],A=u?R?R.props.value:u.__:o,n.__c?w=($=t.__c=n.__c).__=$.__E:(y?t.__c=$=new X(f,A):(t.__c=$=new ke(f,A),$.constructor=X,$.render=Er),R&&R.sub($),$.props=f,$.state||($.state={}),$.context=A,$.__n=o,p=$.__d=!0,$.__h=[],$._sb=[]),y&&$.__s==null&&($.__s=$.state),y&&X.getDerivedStateFromProps!=null&&($.__s==$.state&&($.__s=ie({},$.__s)),ie($.__s,X.getDerivedStateFromProps(f,$.__s))),m=$.props,v=$.state,$.__v=t,p)y&&X.getDerivedStateFromProps==null&&$.componentWillMount!=null&&$.componentWillMount(),y&&$.componentDidMount!=null&&$.__h.push($.componentDidMount);else{if(y&&X.getDerivedStateFromProps==null&&f!==m&&$.componentWillReceiveProps!=null&&$.componentWillReceiveProps(f,A),!$.__e&&$.shouldComponentUpdate!=null&&$.shouldComponentUpdate(f,$.__s,A)===!1||t.__v==n.__v){for(t.__v!=n.__v&&($.props=f,$.state=$.__s,$.__d=!1),t.__e=n.__e,t.__k=n.__k,t.__k.some(function(Q){Q&&(Q.__=t)}),M=0;M<$._sb.length;M++)$.__h.push($._sb[M]);$._sb=[],$.__h.length&&s.push($);break e}$.componentWillUpdate!=null&&$.componentWillUpdate(f,$.__s,A),y&&$.componentDidUpdate!=null&&$.__h.push(function(){$.componentDidUpdate(m,v,g)})}if($.context=A,$.props=f,$.__P=e,$.__e=!1,L=I.__r,q=0,y){for($.state=$.__s,$.__d=!1,L&&L(t),u=$.render($.props,$.state,$.context),C=0;C<$._sb.length;C++)$.__h.push($._sb[C]);$._sb=[]}else do $.__d=!1,L&&L(t),u=$.render($.props,$.state,$.context),$.state=$.__s;while($.__d&&++q<25);$.state=$.__s,$.getChildContext!=null&&(o=ie(ie({},o),$.getChildContext())),y&&!p&&$.getSnapshotBeforeUpdate!=null&&(g=$.getSnapshotBeforeUpdate(m,v)),J=u,u!=null&&u.type===te&&u.key==null&&(J=gn(u.props.children)),c=fn(e,We(J)?J:[J],t,n,o,a,r,s,c,d,l),$.base=t.__e,t.__u&=-161,$.__h.length&&s.push($),w&&($.__E=$.__=null)}catch(Q){if(t.__v=null,d||r!=null)if(Q.then){for(t.__u|=d?160:128;c&&c.nodeType==8&&c.nextSibling;)c=c.nextSibling;r[r.indexOf(c)]=null,t.__e=c}else{for(k=r.length;k--;)ht(r[k]);mt(t)}else t.__e=n.__e,t.__k=n.__k,Q.then||mt(t);I.__e(Q,t,n)}else r==null&&t.__v==n.__v?(t.__k=n.__k,t.__e=n.__e):c=t.__e=Or(n.__e,t,n,o,a,r,s,d,l);return(u=I.diffed)&&u(t),128&t.__u?void 0:c}function mt(e){e&&e.__c&&(e.__c.__e=!0),e&&e.__k&&e.__k.forEach(mt)}function _n(e,t,n){for(var o=0;o<n.length;o++)gt(n[o],n[++o],n[++o]);I.__c&&I.__c(t,e),e.some(function(a){try{e=a.__h,a.__h=[],e.some(function(r){r.call(a)})}catch(r){I.__e(r,a.__v)}})}function gn(e){return typeof e!="object"||e==null||e.__b&&e.__b>0?e:We(e)?e.map(gn):ie({},e)}function Or(e,t,n,o,a,r,s,c,d){var l,u,$,p,m,v,g,w=n.props,f=t.props,y=t.type;if(y=="svg"?a="http://www.w3.org/2000/svg":y=="math"?a="http://www.w3.org/1998/Math/MathML":a||(a="http://www.w3.org/1999/xhtml"),r!=null){for(l=0;l<r.length;l++)if((m=r[l])&&"setAttribute"in m==!!y&&(y?m.localName==y:m.nodeType==3)){e=m,r[l]=null;break}}if(e==null){if(y==null)return document.createTextNode(f);e=document.createElementNS(a,y,f.is&&f),c&&(I.__m&&I.__m(t,r),c=!1),r=null}if(y==null)w===f||c&&e.data==f||(e.data=f);else{if(r=r&&He.call(e.childNodes),w=n.props||Ae,!c&&r!=null)for(w={},l=0;l<e.attributes.length;l++)w[(m=e.attributes[l]).name]=m.value;for(l in w)if(m=w[l],l!="children"){if(l=="dangerouslySetInnerHTML")$=m;else if(!(l in f)){if(l=="value"&&"defaultValue"in f||l=="checked"&&"defaultChecked"in f)continue;Fe(e,l,null,m,a)}}for(l in f)m=f[l],l=="children"?p=m:l=="dangerouslySetInnerHTML"?u=m:l=="value"?v=m:l=="checked"?g=m:c&&typeof m!="function"||w[l]===m||Fe(e,l,m,w[l],a);if(u)c||$&&(u.__html==$.__html||u.__html==e.innerHTML)||(e.innerHTML=u.__html),t.__k=[];else if($&&(e.innerHTML=""),fn(t.type=="template"?e.content:e,We(p)?p:[p],t,n,o,y=="foreignObject"?"http://www.w3.org/1999/xhtml":a,r,s,r?r[0]:n.__k&&_e(n,0),c,d),r!=null)for(l=r.length;l--;)ht(r[l]);c||(l="value",y=="progress"&&v==null?e.removeAttribute("value"):v!=null&&(v!==e[l]||y=="progress"&&!v||y=="option"&&v!=w[l])&&Fe(e,l,v,w[l],a),l="checked",g!=null&&g!=e[l]&&Fe(e,l,g,w[l],a))}return e}function gt(e,t,n){try{if(typeof e=="function"){var o=typeof e.__u=="function";o&&e.__u(),o&&t==null||(e.__u=e(t))}else e.current=t}catch(a){I.__e(a,n)}}function vn(e,t,n){var o,a;if(I.unmount&&I.unmount(e),(o=e.ref)&&(o.current&&o.current!=e.__e||gt(o,null,t)),(o=e.__c)!=null){if(o.componentWillUnmount)try{o.componentWillUnmount()}catch(r){I.__e(r,t)}o.base=o.__P=null}if(o=e.__k)for(a=0;a<o.length;a++)o[a]&&vn(o[a],t,n||typeof e.type!="function");n||ht(e.__e),e.__c=e.__=e.__e=void 0}function Er(e,t,n){return this.constructor(e,n)}function vt(e,t,n){var o,a,r,s;t==document&&(t=document.documentElement),I.__&&I.__(e,t),a=(o=typeof n=="function")?null:n&&n.__k||t.__k,r=[],s=[],_t(t,e=(!o&&n||t).__k=Ve(te,null,[e]),a||Ae,Ae,t.namespaceURI,!o&&n?[n]:a?null:t.firstChild?He.call(t.childNodes):null,r,!o&&n?n:a?a.__e:t.firstChild,o,s),_n(r,e,s)}function bt(e){function t(n){var o,a;return this.getChildContext||(o=new Set,(a={})[t.__c]=this,this.getChildContext=function(){return a},this.componentWillUnmount=function(){o=null},this.shouldComponentUpdate=function(r){this.props.value!=r.value&&o.forEach(function(s){s.__e=!0,pt(s)})},this.sub=function(r){o.add(r);var s=r.componentWillUnmount;r.componentWillUnmount=function(){o&&o.delete(r),s&&s.call(r)}}),n.children}return t.__c="__cC"+$n++,t.__=e,t.Provider=t.__l=(t.Consumer=function(n,o){return n.children(o)}).contextType=t,t}He=pn.slice,I={__e:function(e,t,n,o){for(var a,r,s;t=t.__;)if((a=t.__c)&&!a.__)try{if((r=a.constructor)&&r.getDerivedStateFromError!=null&&(a.setState(r.getDerivedStateFromError(e)),s=a.__d),a.componentDidCatch!=null&&(a.componentDidCatch(e,o||{}),s=a.__d),s)return a.__E=a}catch(c){e=c}throw e}},cn=0,kr=function(e){return e!=null&&e.constructor==null},ke.prototype.setState=function(e,t){var n;n=this.__s!=null&&this.__s!=this.state?this.__s:this.__s=ie({},this.state),typeof e=="function"&&(e=e(ie({},n),this.props)),e&&ie(n,e),e!=null&&this.__v&&(t&&this._sb.push(t),pt(this))},ke.prototype.forceUpdate=function(e){this.__v&&(this.__e=!0,e&&this.__h.push(e),pt(this))},ke.prototype.render=te,ue=[],ln=typeof Promise=="function"?Promise.prototype.then.bind(Promise.resolve()):setTimeout,dn=function(e,t){return e.__v.__b-t.__v.__b},Be.__r=0,un=/(PointerCapture)$|Capture$/i,ft=0,ut=sn(!1),$t=sn(!0),$n=0;var yn=function(e,t,n,o){var a;t[0]=0;for(var r=1;r<t.length;r++){var s=t[r++],c=t[r]?(t[0]|=s?1:2,n[t[r++]]):t[++r];s===3?o[0]=c:s===4?o[1]=Object.assign(o[1]||{},c):s===5?(o[1]=o[1]||{})[t[++r]]=c:s===6?o[1][t[++r]]+=c+"":s?(a=e.apply(c,yn(e,c,n,["",null])),o.push(a),c[0]?t[0]|=2:(t[r-2]=0,t[r]=a)):o.push(c)}return o},bn=new Map;function wn(e){var t=bn.get(this);return t||(t=new Map,bn.set(this,t)),(t=yn(this,t.get(e)||(t.set(e,t=(function(n){for(var o,a,r=1,s="",c="",d=[0],l=function(p){r===1&&(p||(s=s.replace(/^\s*\n\s*|\s*\n\s*$/g,"")))?d.push(0,p,s):r===3&&(p||s)?(d.push(3,p,s),r=2):r===2&&s==="..."&&p?d.push(4,p,0):r===2&&s&&!p?d.push(5,0,!0,s):r>=5&&((s||!p&&r===5)&&(d.push(r,0,s,a),r=6),p&&(d.push(r,p,0,a),r=6)),s=""},u=0;u<n.length;u++){u&&(r===1&&l(),l(u));for(var $=0;$<n[u].length;$++)o=n[u][$],r===1?o==="<"?(l(),d=[d],r=3):s+=o:r===4?s==="--"&&o===">"?(r=1,s=""):s=o+s[0]:c?o===c?c="":s+=o:o==='"'||o==="'"?c=o:o===">"?(l(),r=1):r&&(o==="="?(r=5,a=s,s=""):o==="/"&&(r<5||n[u][$+1]===">")?(l(),r===3&&(d=d[0]),r=d,(d=d[0]).push(2,0,r),r=0):o===" "||o==="	"||o===`
`||o==="\r"?(l(),r=2):s+=o),r===3&&s==="!--"&&(r=4,d=d[0])}return l(),d})(e)),t),arguments,[])).length>1?t:t[0]}var i=wn.bind(Ve);var $e,F,yt,kn,Se=0,Rn=[],G=I,An=G.__b,Sn=G.__r,xn=G.diffed,On=G.__c,En=G.unmount,Tn=G.__;function xe(e,t){G.__h&&G.__h(F,e,Se||t),Se=0;var n=F.__H||(F.__H={__:[],__h:[]});return e>=n.__.length&&n.__.push({}),n.__[e]}function E(e){return Se=1,Tr(Cn,e)}function Tr(e,t,n){var o=xe($e++,2);if(o.t=e,!o.__c&&(o.__=[n?n(t):Cn(void 0,t),function(c){var d=o.__N?o.__N[0]:o.__[0],l=o.t(d,c);d!==l&&(o.__N=[l,o.__[1]],o.__c.setState({}))}],o.__c=F,!F.__f)){var a=function(c,d,l){if(!o.__c.__H)return!0;var u=o.__c.__H.__.filter(function(p){return!!p.__c});if(u.every(function(p){return!p.__N}))return!r||r.call(this,c,d,l);var $=o.__c.props!==c;return u.forEach(function(p){if(p.__N){var m=p.__[0];p.__=p.__N,p.__N=void 0,m!==p.__[0]&&($=!0)}}),r&&r.call(this,c,d,l)||$};F.__f=!0;var r=F.shouldComponentUpdate,s=F.componentWillUpdate;F.componentWillUpdate=function(c,d,l){if(this.__e){var u=r;r=void 0,a(c,d,l),r=u}s&&s.call(this,c,d,l)},F.shouldComponentUpdate=a}return o.__N||o.__}function D(e,t){var n=xe($e++,3);!G.__s&&Nn(n.__H,t)&&(n.__=e,n.u=t,F.__H.__h.push(n))}function Z(e){return Se=5,Ke(function(){return{current:e}},[])}function Ke(e,t){var n=xe($e++,7);return Nn(n.__H,t)&&(n.__=e(),n.__H=t,n.__h=e),n.__}function Dn(e,t){return Se=8,Ke(function(){return e},t)}function Oe(e){var t=F.context[e.__c],n=xe($e++,9);return n.c=e,t?(n.__==null&&(n.__=!0,t.sub(F)),t.props.value):e.__}function Xe(){var e=xe($e++,11);if(!e.__){for(var t=F.__v;t!==null&&!t.__m&&t.__!==null;)t=t.__;var n=t.__m||(t.__m=[0,0]);e.__="P"+n[0]+"-"+n[1]++}return e.__}function Pr(){for(var e;e=Rn.shift();)if(e.__P&&e.__H)try{e.__H.__h.forEach(Ge),e.__H.__h.forEach(wt),e.__H.__h=[]}catch(t){e.__H.__h=[],G.__e(t,e.__v)}}G.__b=function(e){F=null,An&&An(e)},G.__=function(e,t){e&&t.__k&&t.__k.__m&&(e.__m=t.__k.__m),Tn&&Tn(e,t)},G.__r=function(e){Sn&&Sn(e),$e=0;var t=(F=e.__c).__H;t&&(yt===F?(t.__h=[],F.__h=[],t.__.forEach(function(n){n.__N&&(n.__=n.__N),n.u=n.__N=void 0})):(t.__h.forEach(Ge),t.__h.forEach(wt),t.__h=[],$e=0)),yt=F},G.diffed=function(e){xn&&xn(e);var t=e.__c;t&&t.__H&&(t.__H.__h.length&&(Rn.push(t)!==1&&kn===G.requestAnimationFrame||((kn=G.requestAnimationFrame)||Rr)(Pr)),t.__H.__.forEach(function(n){n.u&&(n.__H=n.u),n.u=void 0})),yt=F=null},G.__c=function(e,t){t.some(function(n){try{n.__h.forEach(Ge),n.__h=n.__h.filter(function(o){return!o.__||wt(o)})}catch(o){t.some(function(a){a.__h&&(a.__h=[])}),t=[],G.__e(o,n.__v)}}),On&&On(e,t)},G.unmount=function(e){En&&En(e);var t,n=e.__c;n&&n.__H&&(n.__H.__.forEach(function(o){try{Ge(o)}catch(a){t=a}}),n.__H=void 0,t&&G.__e(t,n.__v))};var Pn=typeof requestAnimationFrame=="function";function Rr(e){var t,n=function(){clearTimeout(o),Pn&&cancelAnimationFrame(t),setTimeout(e)},o=setTimeout(n,35);Pn&&(t=requestAnimationFrame(n))}function Ge(e){var t=F,n=e.__c;typeof n=="function"&&(e.__c=void 0,n()),F=t}function wt(e){var t=F;e.__c=e.__(),F=t}function Nn(e,t){return!e||e.length!==t.length||t.some(function(n,o){return n!==e[o]})}function Cn(e,t){return typeof t=="function"?t(e):t}var h="../evenkeel/v1",kt="evenkeel-authorization",ge=class extends Error{constructor(t,n,o=[]){super(n),this.status=t,this.roles=o}},Mn=0,ce=()=>Date.now()+Mn,ve=JSON.parse(sessionStorage.getItem(kt)||"{}");function jn(e){ve=e,sessionStorage.setItem(kt,JSON.stringify(e))}function In(){ve={},sessionStorage.removeItem(kt);for(let e of Ln)e()}var Ln=[],Fn=e=>Ln.push(e);function At(){return Object.keys(ve).length>0}var Un=()=>ve.Authorization?"password":At()?"token":"";async function Bn(){try{return((await fetch(`${h}/status`,{headers:{Accept:"application/json"},credentials:"omit",cache:"no-store",signal:AbortSignal.timeout(15e3)})).headers.get("WWW-Authenticate")||"").split(/[ ,]/,1)[0].toLowerCase()}catch{return""}}function Hn(e,t){let n=new TextEncoder().encode(`${e}:${t}`);return{Authorization:`Basic ${btoa(String.fromCharCode(...n))}`}}function Wn(e){return{"X-Auth-Token":e}}async function qe(e,t,n,o=15e3){let a={Accept:"application/json",...ve};n!==void 0&&(a["Content-Type"]="application/json");let r;try{r=await fetch(t,{method:e,headers:a,body:n===void 0?void 0:JSON.stringify(n),credentials:"omit",cache:"no-store",signal:AbortSignal.timeout(o)})}catch(d){throw new ge(0,`no answer from this controller: ${d.message}`)}Dr(r);let s=await r.text(),c=s?Kn(s):null;if(!r.ok)throw Gn(r,c);return c}function Dr(e){let t=Date.parse(e.headers.get("Date")||"");t&&Math.abs(t+500-ce())>1e3&&(Mn=t+500-Date.now())}async function Vn(e,t,{told:n,at:o,signal:a,silentMs:r}){let s=new AbortController,c=()=>s.abort();a.addEventListener("abort",c);let d=setTimeout(c,r);try{let l=await fetch(e,{headers:{Accept:"text/event-stream","Last-Event-ID":String(t),...ve},credentials:"omit",cache:"no-store",signal:s.signal});if(!l.ok)throw Gn(l,Kn(await l.text()));let u=l.body.pipeThrough(new TextDecoderStream).getReader(),$="";for(;;){let{done:p,value:m}=await u.read();if(p)return;clearTimeout(d),d=setTimeout(c,r);let v=($+m).split(`

`);$=v.pop();let g=[];for(let w of v)for(let f of w.split(`
`))f.startsWith("id: ")&&o(Number(f.slice(4))),f.startsWith("data: ")&&g.push(JSON.parse(f.slice(6)));n(g)}}catch(l){throw l instanceof ge?l:new ge(0,`no answer from this controller: ${l.message}`)}finally{clearTimeout(d),a.removeEventListener("abort",c),s.abort()}}function Gn(e,t){let n=(e.headers.get("X-Needs-Role")||"").split(", ").filter(Boolean);return new ge(e.status,Nr(t)||`HTTP ${e.status}`,n)}var H=e=>e.catch(t=>{if(t.status!==403)throw t;return{refused:t}}),ne=(e,t,n)=>qe("POST",e,t,n),_=e=>qe("GET",e);function Kn(e){try{return JSON.parse(e)}catch{return null}}function Nr(e){return e&&(e.faultstring||e.reason||e.error&&e.error.message||e.description||e.message||e.detail||e.title)}var qn=new URLSearchParams(location.search).get("demo"),Cr="../demo/controls",Mr=2e3;async function Xn(e){let t=await fetch(Cr,{method:e?"POST":"GET",headers:{"X-Demo-Token":qn,"Content-Type":"application/json"},body:e&&JSON.stringify(e),cache:"no-store"}),n=await t.json();if(!t.ok)throw new Error(n.reason||`HTTP ${t.status}`);return n}function zn(){let[e,t]=E(null),[n,o]=E(""),[a,r]=E("");if(D(()=>{if(!qn)return;let d=()=>Xn().then(t,()=>{});d();let l=setInterval(()=>document.hidden||d(),Mr);return()=>clearInterval(l)},[]),!e)return null;let s=n||e.agents[0].host,c=(d,l)=>i`<button
      type="button"
      disabled=${!e.offered}
      onClick=${()=>Xn({action:l,host:s}).then(u=>(t(u),r("")),u=>r(u.message))}
    >
      ${d}
    </button>`;return i`<section class="demo" aria-label="Demo">
    <strong>Demo</strong>
    <label
      >Agent${" "}
      <select value=${s} onChange=${d=>o(d.target.value)}>
        ${e.agents.map(d=>i`<option value=${d.host}>${d.host}, ${d.state}</option>`)}
      </select></label
    >
    ${c("Kill it","kill")} ${c("Freeze it","freeze")} ${c("Cut the device off","cut")} ${c("Heal everything","heal")}
    <span role="status">${a||(e.offered?`Device: ${e.device}`:"It tells its story first; the buttons come at its end.")}</span>
  </section>`}var Yn='data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="%230e6fae"/><path d="M15 4.5v11H6.8zM17 7v8.500h6.600z" fill="%23fff"/><path d="M4.500 18h23c-.6 3.600-2.900 5.500-6 5.500h-3.500l-1 4h-2l-1-4H10.500c-3.100 0-5.400-1.900-6-5.500z" fill="%239fe0ff"/></svg>%0A';var Jn="evenkeel-theme",St=["system","light","dark"];function xt(){let e=localStorage.getItem(Jn);return St.includes(e)?e:"system"}function Zn(e){localStorage.setItem(Jn,e),document.documentElement.dataset.theme=e}document.documentElement.dataset.theme=xt();var Ot=()=>i`<img class="logo" src=${Yn} alt="" width="28" height="28" />`;function Et(){let[e,t]=E(xt);function n(o){Zn(o.target.value),t(o.target.value)}return i`<label class="theme"
    ><span>Theme</span>
    <select value=${e} onChange=${n}>
      ${St.map(o=>i`<option>${o}</option>`)}
    </select></label
  >`}function Qn({views:e,current:t,caller:n,leave:o}){return i`<header>
    <a class="brand" href="#/"><${Ot} /> Even Keel</a> ${n&&i`<span class="version">${n.version}</span>`}
    <${Ir} views=${e} current=${t} />
    <div class="account">
      ${n&&i`<${Lr} caller=${n} />`}
      <${Fr} url=${n&&n.documentation_url} />
      <${Et} />
      ${At()&&i`<button type="button" onClick=${()=>o("")}>Log out</button>`}
    </div>
  </header>`}function Ir({views:e,current:t}){let n=Z(null);return D(()=>{n.current&&n.current.scrollIntoView({block:"nearest",inline:"center"})},[t]),i`<nav aria-label="Views">
    ${Object.entries(e).map(([o,a])=>i`<a href="#/${o}" ref=${o===t?n:null} aria-current=${o===t?"page":null}>${a}</a>`)}
  </nav>`}function Lr({caller:{user:e,roles:t,project_id:n}}){if(!e)return i`<span class="caller">No authentication</span>`;let o=t.join(", ")||"no role";return i`<span class="caller" title=${`Roles: ${o}. ${n?`Project: ${n}`:"No project"}.`}>
    <strong>${e}</strong> <span class="roles">${o}</span>
  </span>`}function Fr({url:e}){return e?i`<a href=${e} target="_blank" rel="noopener noreferrer">Documentation</a>`:i`<a href="../openapi.json" target="_blank" rel="noopener">API description</a>`}var Ur=1e4,Br=2e3,Hr=200,Wr=100,Vr=4e4,eo=[1e3,1e3,2e3,5e3];function to(){let[e,t]=E({events:[],error:null,newest:0,connected:!1});return D(()=>{let n=new AbortController,o=null,a=()=>document.hidden&&o&&o.abort();document.addEventListener("visibilitychange",a),n.signal.addEventListener("abort",()=>{document.removeEventListener("visibilitychange",a),o&&o.abort()});let r=null,s=0,c=l=>{s=0,t(u=>Kr(u,l))};async function d(){for(;!n.signal.aborted;){if(await Gr(),n.signal.aborted)return;o=new AbortController;try{if(r===null){let l=(await _(`${h}/events?limit=${Wr}&newest=true`)).events;r=l.length?l[0].id-1:0,c(l)}await Vn(`${h}/events`,r,{told:c,at:l=>r=l,signal:o.signal,silentMs:Vr})}catch(l){if(n.signal.aborted)return;if(o.signal.aborted)continue;if(t(u=>({...u,error:l,connected:!1})),l.status===401||l.status===403)return}await new Promise(l=>setTimeout(l,eo[Math.min(s++,eo.length-1)]))}}return d(),()=>n.abort()},[]),e}function Gr(){return document.hidden?new Promise(e=>document.addEventListener("visibilitychange",e,{once:!0})):Promise.resolve()}function Kr(e,t){let n=new Set(e.events.map(r=>r.id)),o=t.filter(r=>!n.has(r.id));return!o.length&&e.connected&&!e.error?e:{events:[...o,...e.events].sort((r,s)=>s.id-r.id).slice(0,Hr),error:null,connected:!0,newest:e.newest+o.length}}function N(e,t,n=[]){let[o,a]=E({data:null,error:null,at:0}),r=Z(0),s=Z(0),c=Dn(async()=>{let d=++r.current;s.current=Date.now();try{let l=await e();d===r.current&&a({data:l,error:null,at:ce()})}catch(l){d===r.current&&a(u=>({...u,error:l}))}},n);return D(()=>(s.current=0,()=>{r.current+=1}),[c]),D(()=>{let d=setTimeout(c,Math.max(0,s.current+Br-Date.now())),l=setInterval(()=>document.hidden||c(),Ur);return()=>{clearTimeout(d),clearInterval(l)}},[c,t]),{...o,again:c}}var Tt="evenkeel-moved";function no(){let[e,t=""]=location.hash.replace(/^#\/?/,"").split("?");return{parts:e.split("/").map(Xr),query:Object.fromEntries(new URLSearchParams(t))}}function Xr(e){try{return decodeURIComponent(e)}catch{return e}}function oo(){let[e,t]=E(no);return D(()=>{let n=()=>t(no());for(let o of["hashchange",Tt])addEventListener(o,n);return()=>{for(let o of["hashchange",Tt])removeEventListener(o,n)}},[]),e}function W(e,t={}){let n=new URLSearchParams(Object.entries(t).filter(([,o])=>o));return`#/${e}${n.size?`?${n}`:""}`}function ro(e,{instead:t=!1}={}){history[t?"replaceState":"pushState"](null,"",e),dispatchEvent(new Event(Tt))}var qr=new Set(["ACTIVE","ONLINE","up","connected","reached","served","closed"]),zr=new Set(["DEGRADED","DRAINING"]),Yr=new Set(["ERROR","OFFLINE","silent","forced_down","unserved","halted","out of reach","failed","expired"]),Ee=e=>qr.has(e)?"good":Yr.has(e)?"bad":zr.has(e)?"unsure":"other";function P({value:e}){let t=Ee(e),n={good:"●",bad:"▲",unsure:"◆",other:"◌"}[t];return i`<span class="status ${t}"><span aria-hidden="true">${n}</span> ${e}</span>`}var j=e=>e&&/^([0-9a-f]{8}-|[0-9a-f]{32}$)/.test(e)?e.slice(0,8):e;function oe(e){if(!e)return"";let t=Math.max(0,(ce()-Date.parse(e.endsWith("Z")?e:`${e}Z`))/1e3);return t<120?`${Math.round(t)} s`:t<7200?`${Math.round(t/60)} min`:t<172800?`${Math.round(t/3600)} h`:`${Math.round(t/86400)} d`}var ao=e=>`${Math.max(0,e/1e3).toFixed(1)} s`,pe=e=>e.replace("T"," ").slice(0,19);function ee(e){for(let[t,n]of[["G",1e9],["M",1e6],["k",1e3]])if(e>=n)return`${(e/n).toPrecision(3)} ${t}`;return e>0&&e<.001?"< 0.001":e>=10||Number.isInteger(e)?String(Math.round(e)):e.toPrecision(2)}function le({facts:e}){return i`<dl class="facts">
    ${e.filter(([,t])=>t!=="").map(([t,n,o])=>i`<div key=${t} class=${o?"long":null}><dt>${t}</dt><dd>${n}</dd></div>`)}
  </dl>`}function x({command:e,path:t,method:n="GET"}){return i`<p class="also">
    The same: <code>${e}</code>${t&&i` · <code>${n} ${t.replace(/^\.\./,"")}</code>`}
  </p>`}function O({error:e,loading:t}){return e&&e.status===403?i`<${Te} error=${e} />`:e?i`<p class="failure" role="alert">${e.message}</p>`:t&&i`<p>Loading…</p>`}function Te({error:e}){return i`<p class="empty">${e.roles.length?`Needs the role ${e.roles.join(" or ")}.`:e.message}</p>`}var Jr=e=>e===""||e===null||e===void 0||e===!1;function V({caption:e,columns:t,rows:n,empty:o,order:a}){if(!n)return null;if(!n.length)return i`<p class="empty">${o}</p>`;let r=t.filter(([,s,c])=>c||n.some(d=>!Jr(s(d))));return i`<div class="scroll" tabindex="0" role="region" aria-label=${e}>
    <table>
      <caption>
        ${e}
      </caption>
      <thead>
        <tr>
          ${r.map(([s,,c])=>i`<${Zr} key=${s} title=${s} sortKey=${c} order=${a} />`)}
        </tr>
      </thead>
      <tbody>
        ${n.map(s=>i`<tr key=${s.key||s.id||s.name}>${r.map(([c,d])=>i`<td key=${c} data-title=${c}>${d(s)}</td>`)}</tr>`)}
      </tbody>
    </table>
  </div>`}function Zr({title:e,sortKey:t,order:n}){if(!t||!n)return i`<th scope="col">${e}</th>`;let o=n.key===t?n.descending?"descending":"ascending":null,a={ascending:"▲",descending:"▼"}[o]||"";return i`<th scope="col" aria-sort=${o}>
    <a class="order" href=${n.link(t,o==="ascending")}>${e} <span aria-hidden="true">${a}</span></a>
  </th>`}function Pe({text:e,about:t}){let[n,o]=E(!1);async function a(){await Qr(e),o(!0),setTimeout(()=>o(!1),2e3)}return i`<button type="button" class="copy" onClick=${a} aria-label=${`Copy ${t}`}><span role="status">${n?"Copied":"Copy"}</span></button>`}async function Qr(e){if(navigator.clipboard)return navigator.clipboard.writeText(e);let t=document.createElement("textarea");t.value=e,document.body.append(t),t.select(),document.execCommand("copy"),t.remove()}var U=(e,t,n=`${t}s`)=>`${e.toLocaleString("en")} ${e===1?t:n}`;var ea=4e4;async function ze({id:e,environment:t,group_number:n}){let o=`${t}/${n}`,a={id:e,environment:t,group_number:n};try{let r=await ne(`${h}/shards/${e}/orphans`,void 0,ea);return{rows:[...r.orphans.map(c=>({...c,kind:"load balancer",id:c.load_balancer_id,key:`${o} ${c.load_balancer_id}`,place:o,shard:a})),...r.partitions.map(c=>({...c,kind:"partition",id:c.project_id,key:`${o} ${c.project_id}`,place:o,shard:a}))],problem:r.more?`device group ${o}: ${U(r.more,"more was","more were")} not looked at`:""}}catch(r){return{rows:[],problem:`device group ${o}: ${r.message}`}}}var re="../v2/lbaas",lo=50,ta=250,na=["ERROR","PENDING_CREATE","PENDING_UPDATE","PENDING_DELETE","ACTIVE","DELETED"],oa=["ONLINE","OFFLINE","DEGRADED","ERROR","DRAINING","NO_MONITOR"],ra=/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,aa=/^[0-9.]{7,15}$|:/,uo=["q","provisioning_status","operating_status","environment","group_number","project_id","held","sort","marker","page_reverse"];function so(e){let t=uo.filter(n=>e[n]).map(n=>[n,e[n]]);return`${h}/loadbalancers?${new URLSearchParams([...t,["limit",lo]])}`}function io({q:e,environment:t,group_number:n,held:o,...a}){let r=new URLSearchParams({...a,limit:lo});return t&&r.set("provider",t),e&&r.set(ra.test(e)?"id":aa.test(e)?"vip_address":"name",e),`${re}/loadbalancers?${r}`}async function sa(e){let t=await H(_(so(e)));if(!t.refused)return{...t,path:so(e)};let n=await _(io(e)),o=n.loadbalancers.map(a=>({...a,environment:a.provider,group_number:null}));return{...n,loadbalancers:o,path:io(e),own:!0}}function $o({live:e,query:t}){let n=JSON.stringify(t),{data:o,error:a}=N(()=>sa(t),e.newest,[n]),r=(u,$)=>ro(W("loadbalancers",{...t,marker:"",page_reverse:"",...u}),$),[s="",c]=(t.sort||"").split(":"),d={key:s,descending:c==="desc",link:(u,$)=>W("loadbalancers",{...t,marker:"",page_reverse:"",sort:`${u}:${$?"desc":"asc"}`})},l=[["Name",u=>i`<a href="#/loadbalancers/${u.id}">${u.name||j(u.id)}</a>${u.held&&i` <span class="tag">held</span>`}`,"name"],["Id",u=>i`<code title=${u.id}>${j(u.id)}</code>`],["VIP",u=>u.vip_address,"vip_address"],["Provisioning",u=>i`<${P} value=${u.provisioning_status} />`,"provisioning_status"],["Operating",u=>i`<${P} value=${u.operating_status} />`,"operating_status"],["Place",u=>u.group_number===null?u.environment:`${u.environment}/${u.group_number}`],["Project",u=>i`<a title=${u.project_id} href=${W("loadbalancers",{project_id:u.project_id})}>${j(u.project_id)}</a>`],["Age",u=>oe(u.created_at),"created_at"],["Reason",u=>u.status_reason||u.operating_reason]];return i`<div class="heading"><h1>Load balancers</h1>${o&&i`<${ia} data=${o} />`}</div>
    <${la} query=${t} ask=${r} live=${e} />
    <${O} error=${a} loading=${!o} />
    ${o&&i`<${V} caption="Load balancers" columns=${l} rows=${o.loadbalancers} empty="None is like that." order=${d} />
      <${ca} links=${o.loadbalancers_links||[]} query=${t} />
      <${x} command="evenkeel loadbalancer list" path=${o.path} />`}`}function ia({data:e}){if(e.own)return null;let t=e.total.toLocaleString("en");return i`<p class="total" role="status">${e.total_is_exact?t:`more than ${t}`} ${e.total===1?"load balancer":"load balancers"}</p>`}function ca({links:e,query:t}){if(!e.length)return null;let n=(a,r)=>{let s=e.find(u=>u.rel===a);if(!s)return i`<span class="away">${r}</span>`;let c=new URL(s.href,location.href).searchParams,[d,l]=[c.get("marker"),c.get("page_reverse")||""];return i`<a rel=${a==="next"?"next":"prev"} href=${W("loadbalancers",{...t,marker:d,page_reverse:l})}>${r}</a>`},o=W("loadbalancers",{...t,marker:"",page_reverse:""});return i`<nav class="pages" aria-label="Pages">
    ${t.marker?i`<a href=${o}>First</a>`:i`<span class="away">First</span>`} ${n("previous","Previous")} ${n("next","Next")}
  </nav>`}function la({query:e,ask:t,live:n}){let o=N(async()=>(await H(_(`${h}/environments`))).environments||[],n.newest).data||[],a=da(e.environment),r=(c,d,l,u={})=>i`<label
      >${c}
      <select value=${e[d]||""} onChange=${$=>t({[d]:$.target.value,...u})}>
        <option value="">any</option>
        ${l.map($=>Array.isArray($)?i`<option value=${$[0]}>${$[1]}</option>`:i`<option>${$}</option>`)}
      </select></label
    >`,s=uo.some(c=>e[c]&&c!=="sort"&&c!=="marker"&&c!=="page_reverse");return i`<form class="search" role="search" onSubmit=${c=>c.preventDefault()}>
    <${co} label="Search" type="search" wide value=${e.q||""} hint="name, VIP, member's address, project or id" told=${c=>t({q:c},{instead:!!e.q&&!!c})} />
    ${r("Provisioning","provisioning_status",na)} ${r("Operating","operating_status",oa)}
    ${o.length>0&&r("Environment","environment",o.map(c=>c.name),{group_number:""})}
    ${e.environment&&r("Device group","group_number",a)}
    <${co} label="Project" value=${e.project_id||""} hint="whole id" told=${c=>t({project_id:c})} />
    ${r("Imported, held","held",[["true","held"],["false","not held"]])}
    ${s&&i`<a class="clear" href=${W("loadbalancers",{sort:e.sort})}>Clear</a>`}
  </form>`}function da(e){return N(async()=>{if(!e)return[];let{agents:n=[]}=await H(_(`${h}/agents?environment=${encodeURIComponent(e)}`));return[...new Set(n.map(o=>o.group_number))].sort((o,a)=>o-a).map(String)},0,[e]).data||[]}function co({label:e,value:t,hint:n,told:o,wide:a,type:r="text"}){let[s,c]=E(t),d=Z(0),l=Z(t);D(()=>{t!==l.current&&c(t),l.current=t},[t]);function u($){let p=$.target.value;c(p),clearTimeout(d.current),d.current=setTimeout(()=>{l.current=p.trim(),o(l.current)},ta)}return D(()=>()=>clearTimeout(d.current),[]),i`<label class=${a?"wide":""}>${e} <input type=${r} value=${s} onInput=${u} placeholder=${n} maxlength="255" spellcheck="false" autocomplete="off" /></label>`}var z=e=>({text:e,state:"done"}),K=e=>({text:e,state:"waiting"}),po=e=>({text:e,state:"failed"}),Ye=e=>e?`; waiting: ${e}`:"",ua=15e3;async function Re(e){return(await _(`${h}/agents/${encodeURIComponent(e)}`)).agent}var mo=e=>t=>Object.entries(e).every(([n,o])=>JSON.stringify(t[n])===JSON.stringify(o)),Pt={async leaving(e){let t=await Re(e);return!t.acting_shards&&t.state!=="draining"?z(`${t.host} is ${t.state}, it serves no shard`):K(`${t.host} is ${t.state}, ${U(t.acting_shards,"shard")} left${Ye(t.waiting_reason)}`)},async comingHome(e){let t=await Re(e);return t.admin_state_up&&!t.away_shards?z(`${t.host} is ${t.state}, its shards are home`):K(`${t.host} is ${t.state}, ${U(t.away_shards,"shard")} away${Ye(t.away_reason)}`)},async notForcedDown(e){let t=await Re(e);return t.forced_down?K(`${t.host} is ${t.state}`):z(`${t.host} is ${t.state}`)},async rebound(e){let t=await Re(e);return!t.home_shards&&!t.acting_shards?z(`no shard is left at ${t.host}`):K(`${U(t.acting_shards,"shard is","shards are")} still at ${t.host}${Ye(t.waiting_reason)}`)},async shardAt(e,t){let o=(await _(`${h}/shards?agent_id=${encodeURIComponent(t)}`)).shards.find(r=>r.id===e),a=await Re(t);return o&&o.acting_agent_id===t?z(`${a.host} serves it, epoch ${o.epoch}`):K(o?`its home is ${a.host}; it is still served elsewhere`:"its home is not changed yet")},async resumed(e){let{environment:t}=await _(`${h}/environments/${encodeURIComponent(e)}`);if(t.halted)return K(t.halted);let n=(await _(`${h}/shards?environment=${encodeURIComponent(e)}`)).shards.filter(o=>!o.served);return n.length?K(`the breaker is closed; ${U(n.length,"shard is","shards are")} not served yet`):z("the breaker is closed, every shard is served")},async gone(e){try{await _(e)}catch(t){if(t.status===404)return z("it is deleted");throw t}return K("it is still there")},async listed(e,t,n,o){return(await _(e))[t].some(mo(n))?z(o):K("not seen yet")},async unlisted(e,t,n){return(await _(e))[t].some(mo(n))?K("it is still there"):z("it is deleted")},async read(e,t,n){let o=(await _(`${h}/references`)).references.filter(s=>!e||s.reference===e),a=o.filter(s=>Date.parse(`${s.checked_at}Z`)<t);if(!a.length)return z(`${U(o.length,"reference was","references were")} read again`);let r=a.filter(s=>s.problem);return Date.now()>n&&r.length===a.length?po(`${U(r.length,"reference","references")} cannot be read: ${r[0].reference}: ${r[0].problem}`):K(`${U(a.length,"reference is","references are")} not read yet`)},async applied(e){let{hosting:t}=await _(`${h}/loadbalancers/${e}/agent`),n=t.acting?` by ${t.acting.host}`:"";return t.provisioning_status==="ERROR"?po(t.status_reason||"it is in ERROR"):t.provisioning_status==="ACTIVE"&&t.applied_revision>=t.revision?z(`revision ${t.applied_revision} is on the devices${n}`):K(`${t.provisioning_status}${Ye(t.status_reason)}`)},async moved(e){let[t]=(await _(`${h}/moves?load_balancer_id=${e}`)).moves;if(!t)return K("it begins");let n=t.reason?` (${t.reason})`:"";if(t.step==="done"){let o=t.gap_seconds===null?"":`; no devices were confirmed to answer for ${t.vip_address} for ${t.gap_seconds.toFixed(2)} s`;return z(`${t.back?"it went back":`it is on ${t.target}`}${n}${o}`)}return t.step==="draining"&&t.by_operator?K(`route ${t.vip_address} to device group ${t.target}, then finish the move`):K(`${t.step}${n}, from ${t.source} to ${t.target}`)},async movedAll(e){let t=(await _(`${h}/moves`)).moves.filter(o=>e.includes(o.load_balancer_id)),n=t.filter(o=>o.step!=="done");return n.length||t.length<e.length?K(`${e.length-t.length+n.length} of ${e.length} are still moving`):z(`${e.length} are moved`)},async activeAgain(e){let{loadbalancer:t}=await _(`${re}/loadbalancers/${e}`);return t.provisioning_status==="ACTIVE"?z("ACTIVE"):K(t.provisioning_status)},async orphanRemoved(e,t){let{rows:n,problem:o}=await ze(e);return o?K(o):n.some(a=>a.id===t)?K("devices still hold it"):z("devices hold it no more")},async historyAccepted(e){return(await _(`${h}/database`)).database.unknown_histories.some(n=>n.history_id===e)?K("still unknown"):z("it is accepted")},async seen(e){return z(e)}},S=Object.fromEntries(Object.keys(Pt).map(e=>[e,(...t)=>({name:e,args:t})])),Rt=e=>S.read(e,ce()-1e3,Date.now()+ua),Dt=({name:e,args:t})=>Object.hasOwn(Pt,e)&&Array.isArray(t)?()=>Pt[e](...t):void 0;var $a=1e3,pa=2e4,ma=30*6e4,ho=20,_o="evenkeel-underway",fa={waiting:["other","◌"],done:["good","●"],failed:["bad","▲"]},ha=0,me=[],Ct=new Set;function Je(e){me=e(me),sessionStorage.setItem(_o,JSON.stringify(me.map(({title:t,watch:n,until:o})=>({title:t,watch:n,until:o}))));for(let t of Ct)t(me)}var Nt=(e,t)=>Je(n=>n.map(o=>o.number===e.number?{...o,...t}:o)),go=e=>Je(t=>t.filter(n=>n.number!==e.number)),_a=e=>me.some(t=>t.number===e.number),ga=e=>new Promise(t=>setTimeout(t,e));Fn(()=>Je(()=>[]));async function Mt(e,t,n=Date.now()+ma){let o=Dt(t),a={number:++ha,title:e,watch:t,until:n,text:"asked for",state:"waiting"};Je(r=>[...r,a].slice(-ho));for(let r="waiting";r==="waiting"&&_a(a);){try{let s=await o();r=s.state,Nt(a,s)}catch(s){Nt(a,{text:s.message})}if(r==="waiting"&&Date.now()>n)return Nt(a,{text:"not done after half an hour; it goes on",state:"failed"});await ga(r==="waiting"?$a:pa),r==="done"&&go(a)}}var fo=!1;function va(){if(fo)return;fo=!0;let e=[];try{e=JSON.parse(sessionStorage.getItem(_o)||"[]")}catch{}for(let{title:t,watch:n,until:o}of e.slice(-ho))n&&Dt(n)&&Mt(t,n,o)}function vo(){let[e,t]=E(me);return D(()=>(Ct.add(t),va(),t(me),()=>Ct.delete(t)),[]),i`<section class="underway" aria-label="Under way">
    <ul role="list" aria-live="polite">
      ${e.map(n=>{let[o,a]=fa[n.state];return i`<li key=${n.number} class=${n.state}>
          <span><strong>${n.title}</strong> <span class="status ${o}"><span aria-hidden="true">${a}</span> ${n.state==="waiting"?"under way":n.state}</span>: ${n.text}</span>
          <button type="button" onClick=${()=>go(n)} aria-label="Dismiss: ${n.title}">×</button>
        </li>`})}
    </ul>
  </section>`}var ba=13e4,ya=300,wa=5e3,Ze=bt({}),bo=bt({});function yo({place:e,children:t}){let[n,o]=E({}),[a,r]=E(null),s=Ke(()=>({open:r,tell:(c,d,l)=>r(u=>u&&u.by===c&&u.title===d&&u.facts!==l?{...u,facts:l}:u)}),[]);return D(()=>()=>r(null),[e]),D(()=>{let c=null,d=()=>_(`${h}/acts`).then(({acts:l})=>o(Object.fromEntries(l.map(u=>[u.name,u]))),l=>l.status===0&&(c=setTimeout(d,wa)));return d(),()=>clearTimeout(c)},[]),i`<${Ze.Provider} value=${n}><${bo.Provider} value=${s}>${t}<//><//>
    ${a&&i`<${Sa} key=${a.number} ...${a} close=${()=>r(null)} />`}`}function De(...e){let t=Oe(Ze);return e.some(n=>t[n]&&t[n].allowed)}function Y({names:e,children:t}){let n=e.map(o=>Oe(Ze)[o]).filter(Boolean);return n.length?n.some(o=>o.allowed)?i`<div class="actions">${t}</div>`:i`<p class="empty">Actions need the role ${n[0].roles.join(" or ")||"of an operator"}.</p>`:null}var ka=(e,t)=>`..${e.replace(/\{(\w+)\}/g,(n,o)=>encodeURIComponent(t[o]))}`,Aa=0;function T({name:e,label:t,about:n,params:o={},fields:a=[],body:r,query:s,command:c,plan:d,facts:l,watch:u,done:$=()=>{}}){let p=Oe(Ze)[e],{open:m,tell:v}=Oe(bo),g=Xe(),w=n?`${t} ${n}`:t;return D(()=>v(g,w,l),[g,w,l]),!p||!p.allowed?null:i`<button type="button" onClick=${()=>m({number:++Aa,by:g,act:p,title:w,label:t,params:o,fields:a,body:r,query:s,command:c,plan:d,facts:l,watch:u,done:$})} aria-label=${w}>${t}</button>`}function Sa({act:e,title:t,label:n,params:o,fields:a,body:r,query:s,command:c,plan:d,facts:l,watch:u,done:$,close:p}){let m=Z(null),[v,g]=E(()=>Object.fromEntries(a.map(C=>[C.name,C.initial??(C.options?xa(C):"")]))),[w,f]=E(null),[y,R]=E(!1),A=Oa(d,v),M=()=>m.current?.close();D(()=>{m.current.showModal()},[]);async function L(C){if(C.preventDefault(),!y){R(!0);try{let J=s?`?${new URLSearchParams(s(v))}`:"",k=await qe(e.method,ka(e.path,o)+J,r&&await r(v),ba);u&&Mt(t,u(k,v)),M(),$()}catch(J){f(J),R(!1)}}}let q=a.some(C=>C.required&&!v[C.name]);return i`<dialog ref=${m} class="act" onClose=${p} aria-label=${t}>
    <form onSubmit=${L}>
      <h2>${t}?</h2>
      <p>${e.effect}</p>
      ${l&&i`<p>${l}</p>`}
      ${a.map(C=>i`<${Ea} key=${C.name} field=${C} value=${v[C.name]} set=${J=>g(k=>({...k,[C.name]:J}))} />`)}
      ${d&&i`<div class="plan" aria-live="polite">${A.busy?i`<p>Asking for the plan…</p>`:A.view}<${O} error=${A.error} />${A.problem&&i`<p class="failure">${A.problem}</p>`}</div>`}
      ${c&&i`<p class="also">The same: <code>${c(v)}</code></p>`}
      <${O} error=${w} />
      <p class="buttons">
        <button type="submit" class="confirm" disabled=${y||q||A.busy||!!A.problem}>${n}</button>
        <button type="button" onClick=${M}>Cancel</button>
        ${y&&i`<span role="status">Asking…</span>`}
      </p>
    </form>
  </dialog>`}var xa=e=>e.options.length?e.options[0][0]:"";function Oa(e,t){let[n,o]=E({busy:!!e}),a=JSON.stringify(t);return D(()=>{if(!e)return;let r=!0;o({busy:!0});let s=setTimeout(async()=>{try{let c=await e(t);r&&o({busy:!1,...c})}catch(c){r&&o({busy:!1,error:c})}},ya);return()=>{r=!1,clearTimeout(s)}},[a]),n}function Ea({field:e,value:t,set:n}){let{name:o,label:a,kind:r="text",options:s,required:c,help:d,hint:l}=e,u=d&&i`<small>${d}</small>`;if(r==="checkbox")return i`<label class="field check"><input type="checkbox" name=${o} checked=${t} onChange=${m=>n(m.target.checked)} /> ${a}</label>`;let $={name:o,required:c,onInput:m=>n(m.target.value)},p=s?i`<select name=${o} value=${t} onChange=${m=>n(m.target.value)}>${s.map(([m,v])=>i`<option value=${m}>${v}</option>`)}</select>`:r==="lines"?i`<textarea ...${$} rows="3" placeholder=${l}>${t}</textarea>`:r==="file"?i`<input type="file" name=${o} required=${c} onChange=${m=>n(m.target.files[0]||"")} />`:i`<input type=${r} ...${$} value=${t} placeholder=${l} autocomplete="off" />`;return i`<label class="field">${a} ${p} ${u}</label>`}var ae=e=>(e||"").split(/[\s,]+/).filter(Boolean),de=e=>Object.fromEntries(Object.entries(e).filter(([,t])=>t!==""&&t!==null&&t!==void 0));function Ne({plan:e}){return e.devices.length?e.devices.map(t=>i`<${Ta} key=${t.device} device=${t} host=${e.host} />`):i`<p>Nothing: the load balancer is gone.</p>`}function Ta({device:e,host:t}){return i`<h3>${e.device}, read by ${t}</h3>
    ${e.problem&&i`<p class="failure">${e.problem}</p>`}
    ${!e.operations.length&&!e.problem?i`<p class="status good"><span aria-hidden="true">●</span> It holds what is desired: no difference.</p>`:i`<${Pa} device=${e.device} steps=${e.operations} />`}
    ${e.more>0&&i`<p>${U(e.more,"more object differs","more objects differ")}.</p>`}
    ${e.left.length>0&&i`<p>Stays, no load balancer needs it: ${e.left.join(", ")}</p>`}`}function Pa({device:e,steps:t}){return t.length?i`<div class="scroll" tabindex="0" role="region" aria-label="Differences on ${e}">
    <table class="steps">
      <caption>Differences on ${e}</caption>
      <thead>
        <tr><th scope="col">Attribute</th><th scope="col">Observed</th><th scope="col">Desired</th></tr>
      </thead>
      ${t.map((n,o)=>i`<tbody key=${o}>
          <tr class="step"><th scope="rowgroup" colspan="3"><span class="verb ${n.verb}">${n.verb}</span> ${n.type} <strong>${n.name}</strong>${n.note&&` (${n.note})`}</th></tr>
          ${n.attributes.map(a=>i`<tr key=${a.name}><td data-title="Attribute">${a.name}</td><td data-title="Observed">${a.present}</td><td data-title="Desired">${a.wanted}</td></tr>`)}
        </tbody>`)}
    </table>
  </div>`:null}var Ra=["agent_drain","agent_undrain","agent_failback","agent_force_down","agent_rebind","agent_delete"],Da=13e4;function jt({agent:e,done:t}){let n=e.admin_state_up,o=n?"drain":"undrain";return i`<${T}
    name="agent_${o}"
    label=${n?"Drain":"Undrain"}
    about=${e.host}
    params=${{id:e.id}}
    facts=${n?`It serves ${U(e.acting_shards,"shard")}.`:`${U(e.away_shards,"shard")} of its own ${e.away_shards===1?"is":"are"} elsewhere.`}
    command=${()=>`evenkeel agent ${o} ${e.host} --wait`}
    watch=${()=>n?S.leaving(e.id):S.comingHome(e.id)}
    done=${t}
  />`}function ko({agent:e,others:t,done:n}){let o={id:e.id},a=t.map(s=>[s.id,`${s.host}, ${s.state}`]),r=!e.alive;return i`<${Y} names=${Ra}>
    <${jt} agent=${e} done=${n} />
    ${e.away_shards>0&&i`<${T}
      name="agent_failback"
      label="Fail back"
      about=${e.host}
      params=${o}
      facts=${`${U(e.away_shards,"shard")} of it ${e.away_shards===1?"is":"are"} elsewhere. ${e.away_reason}`}
      command=${()=>`evenkeel agent failback ${e.host} --wait`}
      watch=${()=>S.comingHome(e.id)}
      done=${n}
    />`}
    <${T}
      name="agent_force_down"
      label=${e.forced_down?"Host is not dead":"Host is dead"}
      about=${e.host}
      params=${o}
      body=${()=>({down:!e.forced_down})}
      facts=${e.forced_down?"Its agent may serve shards again.":`${e.host} is ${e.state}. Go on only if it is powered off, or isolated.`}
      command=${()=>`evenkeel agent force-down ${e.host} ${e.forced_down?"--undo":"--yes --wait"}`}
      watch=${()=>e.forced_down?S.notForcedDown(e.id):S.leaving(e.id)}
      done=${n}
    />
    ${a.length>0&&i`<${T}
      name="agent_rebind"
      label="Rebind"
      about=${e.host}
      params=${o}
      facts=${`It is home to ${U(e.home_shards,"shard")}.`}
      fields=${[{name:"to",label:"New home",options:a,required:!0}]}
      body=${({to:s})=>({to:s})}
      command=${({to:s})=>`evenkeel agent rebind ${e.host} --to ${s}`}
      watch=${()=>S.rebound(e.id)}
      done=${n}
    />`}
    ${r&&i`<${T}
      name="agent_delete"
      label="Delete"
      about=${e.host}
      params=${o}
      facts=${`It is ${e.state}, and home to ${U(e.home_shards,"shard")}.`}
      fields=${[{name:"rebind_to",label:"New home of its load balancers",options:[["","none"],...a]}]}
      query=${({rebind_to:s})=>s?{rebind_to:s}:{}}
      command=${({rebind_to:s})=>`evenkeel agent delete ${e.host}${s?` --rebind-to ${s}`:""}`}
      watch=${()=>S.gone(`${h}/agents/${encodeURIComponent(e.id)}`)}
    />`}
  <//>`}function Ao({shard:e,agents:t,driver:n,done:o}){let a=t.filter(s=>s.id!==e.home_agent_id).map(s=>[s.id,`${s.host}, ${s.state}`]),r=`of project ${e.project_id.slice(0,8)}`;return i`<div class="actions">
    ${a.length>0&&i`<${T}
      name="shard_rebind"
      label="Move"
      about="shard ${r}"
      params=${{id:e.id}}
      fields=${[{name:"to",label:"New home",options:a,required:!0}]}
      body=${({to:s})=>({to:s})}
      command=${({to:s})=>`evenkeel shard move ${e.id} --to ${s}`}
      watch=${(s,{to:c})=>S.shardAt(e.id,c)}
      done=${o}
    />`}
    ${n==="bigip"&&i`<${wo} shard=${e} about=${r} back=${!1} done=${o} /><${wo} shard=${e} about=${r} back=${!0} done=${o} />`}
  </div>`}function wo({shard:e,about:t,back:n,done:o}){let a=(r,s)=>({adoption:{apply:r,...n?{give_back:!0}:{},...s.keep_irules?{keep_irules:!0}:{}}});return i`<${T}
    name="shard_adopt"
    label=${n?"Give back":"Adopt"}
    about="partition ${t}"
    params=${{id:e.id}}
    facts=${n?"The partition becomes the other program's again; nothing of it is changed any more.":""}
    fields=${n?[]:[{name:"keep_irules",label:"Keep iRules of operators on the virtual servers",kind:"checkbox",initial:!1}]}
    plan=${async r=>({view:i`<${Ne} plan=${(await ne(`${h}/shards/${e.id}/adoption`,a(!1,r),Da)).adoption} />`})}
    body=${r=>a(!0,r)}
    command=${({keep_irules:r})=>`evenkeel adopt ${e.project_id} --environment ${e.environment}${n?" --back":""}${r?" --keep-irules":""} --yes`}
    watch=${r=>S.seen(`${r.adoption.host} has ${n?"given the partition back":"adopted the partition; the next pass changes what the plan named"}`)}
    done=${o}
  />`}var So=async(e,t)=>(await _(`${h}/agents?environment=${encodeURIComponent(e)}&group_number=${t}`)).agents;var Qe=50,xo=e=>`${e.environment}/${e.group_number}`,Oo=e=>e.alive?`${e.devices.filter(t=>t.reachable).length} of ${e.devices.length}`:"not known";function Eo({live:e}){let{data:t,error:n,at:o,again:a}=N(async()=>(await _(`${h}/agents`)).agents,e.newest),r=De("agent_drain"),s=[["Host",c=>i`<a href="#/agents/${c.id}">${c.host}</a>`],["Device group",xo],["State",c=>i`<${P} value=${c.state} />`],["Lease",c=>To(c,o)],["Last report",c=>oe(c.reported_at)],["Shards",c=>c.acting_shards],["At home",c=>c.home_shards],["Queue",c=>c.queue_depth],["Devices in reach",Oo],["Shards wait because",c=>c.waiting_reason||c.away_reason],...r?[["Action",c=>i`<${jt} agent=${c} done=${a} />`]]:[]];return i`<h1>Agents</h1>
    <${O} error=${n} loading=${!t} />
    <${V} caption="Agents" columns=${s} rows=${t} empty="No agent has registered yet. evenkeel-agent on a host that reaches the devices does." />
    <${Y} names=${["agent_drain"]} />
    <${x} command="evenkeel agent list" path="${h}/agents" />`}function To(e,t){return e.alive&&e.session_expires_at?`${ao(Date.parse(`${e.session_expires_at}Z`)-t)} left`:e.silent_since?`silent for ${oe(e.silent_since)}`:"none"}function Po({id:e,live:t}){async function n(){let[l,u,$]=await Promise.all([_(`${h}/agents/${e}`),_(`${h}/shards?agent_id=${e}`),H(_(`${h}/agents/${e}/loadbalancers?limit=${Qe}`))]),{environment:p,group_number:m}=l.agent;return{agent:l.agent,group:await So(p,m),shards:u.shards.filter(v=>v.project_id),balancers:$}}let{data:o,error:a,at:r,again:s}=N(n,t.newest,[e]),c=De("shard_rebind","shard_adopt"),d=o&&o.agent;return i`<p><a href="#/agents">All agents</a></p>
    <h1>${d?d.host:j(e)}</h1>
    <${O} error=${a} loading=${!o} />
    ${d&&i`<${le}
        facts=${[["State",i`<${P} value=${d.state} />`],["Device group",xo(d)],["Lease",To(d,r)],["Last report",oe(d.reported_at)],["Shards that it acts for",d.acting_shards],["Shards whose home it is",d.home_shards],["Queue",d.queue_depth],["Devices in reach",Oo(d)],["Why shards wait",d.waiting_reason||d.away_reason],["Device driver",d.device_driver]]}
      />
      <${ko} agent=${d} others=${o.group.filter(l=>l.id!==e)} done=${s} />
      <h2>Devices as it sees them</h2>
      <${V}
        caption="Devices"
        columns=${[["Device",l=>l.own_name||l.name],["Address",l=>l.name],["Reached",l=>i`<${P} value=${l.reachable===null?"not known":l.reachable?"reached":"out of reach"} />`],["Failover",l=>l.failover_state],["Config sync",l=>l.sync_state],["Version",l=>l.version],["Problem",l=>l.problem]]}
        rows=${d.devices}
        empty="It has not reported a device yet."
      />
      <h2>Shards</h2>
      <${V}
        caption="Shards"
        columns=${[["Tenant",l=>i`<span title=${l.project_id}>${j(l.project_id)}</span>`],["Epoch",l=>l.epoch],["It is",l=>Na(l,e)],["Served",l=>i`<${P} value=${l.served?"served":"unserved"} />`],...c?[["Action",l=>i`<${Ao} shard=${l} agents=${o.group} driver=${d.device_driver} done=${s} />`]]:[]]}
        rows=${o.shards.slice(0,Qe)}
        empty="It has no tenant."
      />
      ${o.shards.length>Qe&&i`<p>${o.shards.length-Qe} more: <code>evenkeel shard list --agent ${d.host}</code></p>`}
      <h2>Load balancers</h2>
      <${O} error=${o.balancers.refused} />
      <${V}
        caption="Load balancers"
        columns=${[["Name",l=>i`<a href="#/loadbalancers/${l.id}">${l.name||j(l.id)}</a>`],["VIP",l=>l.vip_address],["Provisioning",l=>i`<${P} value=${l.provisioning_status} />`],["Operating",l=>i`<${P} value=${l.operating_status} />`]]}
        rows=${o.balancers.loadbalancers}
        empty="None."
      />`}
    <${x} command="evenkeel agent show ${d?d.host:e}" path="${h}/agents/${e}" />`}function Na(e,t){let n=[];return e.acting_agent_id===t&&n.push("acting agent"),e.home_agent_id===t&&n.push("home"),n.join(", ")}var Ca=864e5,Ma=7,ja=30,Ro=365.25,Ia=2*Ro,La=[["All",{}],["Expire within 30 days",{expiring_days:"30"}],["Cannot be read",{unreadable:"true"}]];function Do({until:e}){if(!e)return"–";let t=Math.floor((Date.parse(`${e}Z`)-ce())/Ca);if(t<0)return i`<${P} value="expired" />`;let n=t<Ma?"bad":t<ja?"unsure":"good";return i`<span class="status ${n}" title=${`until ${e} UTC`}><span aria-hidden="true">${{bad:"▲",unsure:"◆",good:"●"}[n]}</span> ${t>Ia?U(Math.floor(t/Ro),"year"):U(t,"day")} left</span>`}function It({rows:e,caption:t,empty:n,more:o=[]}){let a=[["Reference",r=>i`<code>${r.reference}</code>`],["Kind",r=>r.kind.replace("_"," ")],["Valid",r=>i`<${Do} until=${r.not_after} />`],["Subject",r=>r.subject||"–"],["Names",r=>(r.dns_names||[]).join(", ")],["Problem",r=>r.problem&&i`<${P} value="failed" /> ${r.problem}`],...o,["Action",r=>i`<${Fa} reference=${r.reference} />`]];return i`<${V} caption=${t} columns=${a} rows=${e.map(r=>({...r,id:`${r.project_id} ${r.kind} ${r.reference}`}))} empty=${n} />`}function Fa({reference:e}){return i`<${T}
    name="reference_refresh"
    label="Refresh"
    about=${e}
    body=${()=>({refresh:{reference:e}})}
    command=${()=>`evenkeel certificate refresh '${e}'`}
    watch=${()=>Rt(e)}
  />`}function No({live:e,query:t}){let n=new URLSearchParams(Object.entries(t).filter(([s])=>["expiring_days","unreadable","project_id"].includes(s))),o=n.size?`${h}/references?${n}`:`${h}/references`,{data:a,error:r}=N(async()=>(await _(o)).references,e.newest,[o]);return i`<h1>Certificates</h1>
    <nav class="filters" aria-label="Which">
      ${La.map(([s,c])=>i`<a href=${W("certificates",c)} aria-current=${String(new URLSearchParams(c))===String(n)?"true":null}>${s}</a>`)}
    </nav>
    <${O} error=${r} loading=${!a} />
    ${a&&i`<${It}
      rows=${a}
      caption="Certificates in use"
      empty=${n.size?"None is like that.":"No listener or pool refers to a certificate."}
      more=${[["Load balancers",s=>s.load_balancers],["Project",s=>i`<a href=${W("loadbalancers",{project_id:s.project_id})}>${s.project_id.slice(0,8)}</a>`]]}
    />`}
    <${Y} names=${["reference_refresh"]}>
      <${T} name="reference_refresh" label="Refresh all" body=${()=>({refresh:{}})} command=${()=>"evenkeel certificate refresh"} watch=${()=>Rt("")} />
    <//>
    <${x} command="evenkeel certificate list --expiring 36500" path=${o} />
    <${Ba} live=${e} />`}var et=`${h}/certificates`,Ua=[["certificate","certificate with key"],["authority","CA certificates"],["revocation_list","revocation list"]];function Ba({live:e}){let{data:t,error:n,again:o}=N(()=>H(_(et)),e.newest);if(t?t.refused:!n)return null;let a=[["Reference",r=>i`<code>${r.reference}</code>`],["Kind",r=>r.kind.replace("_"," ")],["Valid",r=>i`<${Do} until=${r.not_after} />`],["Subject",r=>r.subject||"–"],["Action",r=>i`<${T}
      name="certificate_delete"
      label="Delete"
      about=${r.name}
      params=${{project_id:r.project_id,name:r.name}}
      command=${()=>`evenkeel certificate delete ${r.reference}`}
      watch=${()=>S.unlisted(et,"certificates",{reference:r.reference})}
      done=${o}
    />`]];return i`<h2>Stored by the controllers</h2>
    ${n&&i`<p class="empty">${n.message}</p>`}
    ${t&&i`<${V} caption="Stored certificates" columns=${a} rows=${t.certificates.map(r=>({...r,id:r.reference}))} empty="None is stored." />
      <${Y} names=${["certificate_create"]}>
        <${T}
          name="certificate_create"
          label="Add certificate"
          fields=${[{name:"project_id",label:"Project (id)",required:!0},{name:"name",label:"Name",required:!0},{name:"kind",label:"Kind",options:Ua},{name:"file",label:"File: PEM, or PKCS#12 of a certificate",kind:"file",required:!0},{name:"private_key",label:"Key, if it is in a file of its own (PEM)",kind:"file"},{name:"intermediates",label:"Intermediates, if they are (PEM)",kind:"file"},{name:"passphrase",label:"Passphrase",kind:"password"},{name:"replace",label:"Replace one with that name",kind:"checkbox",initial:!1}]}
          body=${Ha}
          command=${({project_id:r,name:s,file:c})=>`evenkeel certificate add ${s} --project ${r} --file ${c?c.name:"FILE"}`}
          watch=${({certificate:{reference:r,sha256:s,not_after:c}})=>S.listed(et,"certificates",{reference:r,sha256:s},`${r}, valid until ${c||"–"}`)}
          done=${o}
        />
      <//>`}
    <${x} command="evenkeel certificate list" path=${et} />`}async function Ha({file:e,private_key:t,intermediates:n,...o}){let a=new Uint8Array(await e.arrayBuffer()),r=new TextDecoder().decode(a),s=r.includes("-----BEGIN ")?{pem:r}:{pkcs12:btoa(Array.from(a,d=>String.fromCharCode(d)).join(""))},c=de({private_key:t&&await t.text(),intermediates:n&&await n.text()});return{certificate:{...de(o),...s,...c}}}var Wa=async()=>(await _(`${h}/topology`)).topology,Lt=e=>[...e].sort((t,n)=>(t.own_name||t.name).localeCompare(n.own_name||n.name,"en",{numeric:!0}));function Co({live:e}){let{data:t,error:n}=N(Wa,e.newest),o=t&&t.groups.flatMap(r=>Lt(r.devices).map(s=>({...s,id:`${r.environment}/${r.group_number}/${s.name}`,group:r})));return i`<h1>Devices</h1>
    <p>As reported by the agents of their device group; where reports differ, by one that reaches the device.</p>
    <${O} error=${n} loading=${!t} />
    <${V} caption="Devices" columns=${[["Device",r=>r.own_name||r.name],["Address",r=>r.name],["Device group",r=>`${r.group.environment}/${r.group.group_number}`],["Type",r=>r.group.device_driver],["State",r=>i`<${P} value=${r.reachable?"reached":"out of reach"} />`],["Failover",r=>r.failover_state],["Config sync",r=>r.sync_state],["Version",r=>r.version],["Reached by",r=>r.reached_by.join(", ")],["Not reached by",r=>r.missed_by.join(", ")],["Problem",r=>r.problem]]} rows=${o} empty="No agent has reported a device yet." />
    <${x} command="evenkeel device list" path="${h}/topology" />`}function Mo({live:e}){let{data:t,error:n}=N(async()=>(await _(`${h}/controllers`)).controllers,e.newest);return i`<h1>Controllers</h1>
    <p>They are all alike and keep nothing: any of them may end. A silent one is listed for ten minutes.</p>
    <${O} error=${n} loading=${!t} />
    <${V} caption="Controllers" columns=${[["URL",a=>a.url],["Host",a=>a.host],["State",a=>i`<${P} value=${a.alive?"up":"silent"} />`],["Message broker",a=>i`<${P} value=${a.message_broker==="connected"?"connected":"out of reach"} /> ${a.message_broker==="connected"?"":a.message_broker}`],["Version",a=>a.version],["Up for",a=>a.alive?oe(a.started_at):""],["Seen",a=>`${oe(a.seen_at)} ago`]]} rows=${t} empty="None has been seen yet." />
    <${x} command="evenkeel controller list" path="${h}/controllers" />`}var Ce=`${h}/environments`,Va=[["auto","automatically"],["manual","on request"],["never","never"]],Ga={description:"",failback:"auto",breaker_share:.5,breaker_agents:2,vip_networks_allowed:[],vip_networks_denied:[]};function jo({live:e}){let{data:t,error:n,again:o}=N(async()=>(await _(Ce)).environments,e.newest),a=De("environment_resume","environment_update","environment_delete"),r=[["Name",s=>s.name],["Device driver",s=>s.device_driver],["Failback",s=>s.failback],["Circuit breaker",s=>s.halted?i`<${P} value="halted" /> ${s.halted}`:i`<${P} value="closed" />`],["Opens at",s=>`${U(s.breaker_agents,"agent")} and ${Math.round(s.breaker_share*100)} % silent`],["Description",s=>s.description],...a?[["Action",s=>i`<${Ka} row=${s} done=${o} />`]]:[]];return i`<h1>Environments</h1>
    <${O} error=${n} loading=${!t} />
    <${V} caption="Environments" columns=${r} rows=${t} empty="There is no environment yet." />
    <${Y} names=${["environment_create","environment_resume"]}>
      <${T}
        name="environment_create"
        label="Create environment"
        fields=${[{name:"name",label:"Name",required:!0,help:"Letters, digits, - and _, at most 64."},{name:"device_driver",label:"Device driver",required:!0,hint:"bigip or haproxy"},...Io(Ga)]}
        body=${s=>({environment:{name:s.name,device_driver:s.device_driver,...Lo(s)}})}
        command=${({name:s,device_driver:c})=>`evenkeel environment create ${s} --device-driver ${c}`}
        watch=${s=>S.listed(Ce,"environments",{name:s.environment.name},"it is there")}
        done=${o}
      />
    <//>
    <${x} command="evenkeel environment list" path=${Ce} />`}var Io=e=>[{name:"description",label:"Description",initial:e.description},{name:"failback",label:"An agent that is up again gets its shards back",options:Va,initial:e.failback},{name:"breaker_share",label:"The breaker opens above this share of silent agents (0 to 1)",initial:String(e.breaker_share)},{name:"breaker_agents",label:"and at this number of silent agents at least",initial:String(e.breaker_agents)},{name:"vip_networks_allowed",label:"Networks and subnets of new VIPs (ids; empty: all)",kind:"lines",initial:e.vip_networks_allowed.join(`
`)},{name:"vip_networks_denied",label:"Networks and subnets that no new VIP may be on (ids)",kind:"lines",initial:e.vip_networks_denied.join(`
`)}],Lo=e=>({description:e.description,failback:e.failback,breaker_share:Number(e.breaker_share),breaker_agents:Number(e.breaker_agents),vip_networks_allowed:ae(e.vip_networks_allowed),vip_networks_denied:ae(e.vip_networks_denied)});function Ka({row:e,done:t}){let n={name:e.name};return i`<div class="actions">
    ${!!e.halted&&i`<${T}
      name="environment_resume"
      label="Resume"
      about=${e.name}
      params=${n}
      facts=${`${e.halted}. Are these agents lost for good?`}
      command=${()=>`evenkeel environment resume ${e.name}`}
      watch=${()=>S.resumed(e.name)}
      done=${t}
    />`}
    <${T}
      name="environment_update"
      label="Change"
      about=${e.name}
      params=${n}
      fields=${Io(e)}
      body=${o=>({environment:Lo(o)})}
      command=${o=>`evenkeel environment set ${e.name} --failback ${o.failback} --breaker-share ${o.breaker_share} --breaker-agents ${o.breaker_agents}`}
      watch=${({environment:{failback:o,description:a,breaker_agents:r}})=>S.listed(Ce,"environments",{name:e.name,failback:o,description:a,breaker_agents:r},`failback ${o}, the breaker opens at ${U(r,"agent")}`)}
      done=${t}
    />
    <${T} name="environment_delete" label="Delete" about=${e.name} params=${n} command=${()=>`evenkeel environment delete ${e.name}`} watch=${()=>S.gone(`${Ce}/${e.name}`)} done=${t} />
  </div>`}function Xa({request_id:e,client_address:t}){return e?`from ${t}, ${e}`:null}function Ft({events:e}){return e.length?i`<ol class="events">
    ${e.map(t=>i`<li key=${t.id}>
        <time>${t.at.replace("T"," ").slice(0,19)}</time>${" "}<span class="kind">${t.kind}</span>${" "}
        <span title=${Xa(t)}>${t.load_balancer_id?i`<a href="#/loadbalancers/${t.load_balancer_id}">${t.text}</a>`:t.text}</span>
      </li>`)}
  </ol>`:i`<p>No events yet.</p>`}function Ut({live:e,most:t}){return e.error&&e.error.status===403?i`<${Te} error=${e.error} />`:i`<${Ft} events=${t?e.events.slice(0,t):e.events} />`}function Fo({live:e}){return i`<h1>Events</h1>
    <p>New ones appear at the top, times are UTC.</p>
    <div aria-live="polite"><${Ut} live=${e} /></div>
    <${x} command="evenkeel events --follow" path="${h}/events?newest=true" />`}var Uo=`${h}/moves`;function Ht(e){let t=[...e.problems,...e.loadbalancers.flatMap(o=>o.problems)],n=e.loadbalancers.map(o=>i`<p>${o.name||o.load_balancer_id} (${o.vip_address}), from ${o.source||"nowhere"} to ${e.target}:</p>
      <ol>
        ${o.steps.map(a=>i`<li>${a}</li>`)}
      </ol>`);return{view:n.length?n:i`<p>There is nothing to move.</p>`,problem:t.join("; ")||(n.length?"":"There is nothing to move.")}}function Bo({id:e,name:t,groups:n,done:o}){if(!n.length)return null;let a=({to:r},s)=>({move:{load_balancer_id:e,...Bt(r),apply:s}});return i`<${T}
    name="move_create"
    label="Move"
    about=${t}
    fields=${[{name:"to",label:"To device group",options:n.map(r=>[r,r])}]}
    plan=${async r=>Ht((await ne(Uo,a(r,!1))).move)}
    body=${r=>a(r,!0)}
    command=${({to:r})=>`evenkeel move ${e} --to-environment ${Bt(r).to_environment} --to-group ${Bt(r).to_group} --yes`}
    watch=${()=>S.moved(e)}
    done=${o}
  />`}function Bt(e){let t=e.lastIndexOf("/");return{to_environment:e.slice(0,t),to_group:Number(e.slice(t+1))}}function tt({move:e,done:t}){let n=e.load_balancer_id,o=`the move of ${e.name||n.slice(0,8)}`;return i`<div class="actions">
    <${T}
      name="move_finish"
      label="Finish"
      about=${o}
      params=${{id:n}}
      facts=${`Its step is ${e.step}. ${e.by_operator?`Route ${e.vip_address} to device group ${e.target} first.`:""}`}
      command=${()=>`evenkeel move ${n} --finish --yes`}
      watch=${()=>S.moved(n)}
      done=${t}
    />
    <${T} name="move_back" label="Go back" about=${o} params=${{id:n}} facts=${`From ${e.target} to ${e.source}.`} command=${()=>`evenkeel move ${n} --back --yes`} watch=${()=>S.moved(n)} done=${t} />
  </div>`}var Ho=e=>_(`${Uo}?${new URLSearchParams(de({load_balancer_id:e}))}`);var Wt={listener:["listener","listener","listener",e=>`listeners/${e}`],pool:["pool","pool","pool",e=>`pools/${e}`],member:["member","member","member",(e,t)=>`pools/${t}/members/${e}`],healthmonitor:["health monitor","healthmonitor","healthmonitor",e=>`healthmonitors/${e}`],l7policy:["L7 policy","l7policy","l7policy",e=>`l7policies/${e}`],rule:["L7 rule","rule","l7rule",(e,t)=>`l7policies/${t}/rules/${e}`],ratelimitpolicy:["rate limit policy","ratelimitpolicy","",e=>`ratelimitpolicies/${e}`],ratelimitrule:["rate limit rule","rule","",(e,t)=>`ratelimitpolicies/${t}/rules/${e}`]},Vt={listeners:"listener",pools:"pool",members:"member",l7policies:"l7policy",rules:"rule",rate_limit_policies:"ratelimitpolicy",rate_limit_rules:"ratelimitrule"},Vo=new Set(["member","rule","ratelimitrule"]),qa=new Set(["provisioning_status","operating_status"]),nt=(e,t,n,o)=>`#/loadbalancers/${e}/${t}/${n}${Vo.has(t)?`/${o}`:""}`;function Go(e){let t=new Map(e.pools.map(a=>[a.id,a])),n=new Set,o=e.listeners.map(a=>{let r=[...new Set([a.default_pool_id,...a.l7policies.map(d=>d.redirect_pool_id)])].filter(d=>t.has(d)),s=r.filter(d=>!n.has(d)).map(d=>t.get(d)),c=r.filter(d=>n.has(d)).map(d=>t.get(d));for(let d of r)n.add(d);return{...a,pools:s,shared:c}});return{...e,listeners:o,pools:e.pools.filter(a=>!n.has(a.id))}}var za=e=>i`<span class="status other"><span aria-hidden="true">◌</span> ${e} when last seen</span>`;function Gt({node:e,kind:t,root:n,parent:o,unseen:a}){let r=Object.entries(Vt).flatMap(([u,$])=>(e[u]||[]).map(p=>[$,p]));e.health_monitor&&r.push(["healthmonitor",e.health_monitor]);let s=e.address?` ${e.address}:${e.protocol_port}`:"",c=(e.enhanced_services||[]).join(", "),d=e.metric?` ${e.threshold} ${e.metric} in ${e.interval} s`:"",l=e.name||e.type||j(e.id);return i`<ul class="tree">
    <li>
      <span class="kind">${t?Wt[t][0]:"load balancer"}</span>${" "}
      ${t?i`<a href=${nt(n,t,e.id,o)}>${l}${s}${d}</a>`:l}${" "}
      <${P} value=${e.provisioning_status} />${e.status_reason&&` ${e.status_reason}`}${e.operating_status&&i` ${a?za(e.operating_status):i`<${P} value=${e.operating_status} />`}`}${c&&i` <span class="kind">enhanced services</span> ${c}`}
      ${(e.shared||[]).map(u=>i`<ul key=${`shared ${u.id}`} class="tree"><li><span class="kind">pool</span> <a href=${nt(n,"pool",u.id)}>${u.name||j(u.id)}</a>, the same as above</li></ul>`)}
      ${r.map(([u,$])=>i`<${Gt} key=${$.id} node=${$} kind=${u} root=${n} parent=${e.id} unseen=${a} />`)}
    </li>
  </ul>`}function Ko({root:e,kind:t,id:n,parent:o,live:a}){let[r,s,c,d]=Wt[t]||Wt.listener,{data:l,error:u}=N(async()=>(await _(`${re}/${d(n,o)}`))[s],a.newest,[t,n,o]);return i`<p><a href="#/loadbalancers/${e}">The load balancer</a></p>
    <h1>${r} ${l?l.name||j(n):j(n)}</h1>
    <${O} error=${u} loading=${!l} />
    ${l&&i`<${le} facts=${Object.entries(l).map(([$,p])=>[$,Ja(t==="ratelimitpolicy"&&$==="rules"?"rate_limit_rules":$,p,e,n,l)])} />`}
    ${t==="listener"&&l&&i`<${Ya} id=${n} root=${e} turn=${a.newest} />`}
    <${x}
      command=${c?`openstack loadbalancer ${c} show ${Vo.has(t)?`${o} `:""}${n}`:`evenkeel loadbalancer tree ${e}`}
      path="${re}/${d(n,o)}"
    />`}function Ya({id:e,root:t,turn:n}){let o=`${h}/listeners/${e}/irules`,{data:a,again:r}=N(()=>H(_(o)),n,[e]);if(!a||a.refused)return null;let{irules:s}=a.listener;return i`<h2>iRules of operators</h2>
    <p>${s.length?s.map(c=>i`<${te} key=${c}><code>${c}</code>${" "}<//>`):"None is attached."}</p>
    <div class="actions">
      <${T}
        name="listener_set_irules"
        label="Set iRules"
        params=${{id:e}}
        fields=${[{name:"irules",label:"Paths on the devices, one a line, in their order",kind:"lines",hint:"/Common/name",initial:s.join(`
`)}]}
        body=${c=>({irules:ae(c.irules)})}
        command=${c=>`evenkeel irule set ${e} ${ae(c.irules).join(" ")}`}
        watch=${()=>S.applied(t)}
        done=${r}
      />
    </div>
    <${x} command="evenkeel irule show ${e}" path=${o} />`}var Wo={default_pool_id:"pool",redirect_pool_id:"pool",healthmonitor_id:"healthmonitor",listener_id:"listener",pool_id:"pool"};function Ja(e,t,n,o){return qa.has(e)?i`<${P} value=${t} />`:t==null||t===""?"–":Wo[e]?i`<a href=${nt(n,Wo[e],t,o)}>${j(t)}</a>`:Array.isArray(t)&&Vt[e]&&t.every(a=>a&&(a.id||typeof a=="string"))?t.length?t.map(a=>a.id||a).map(a=>i`<${te} key=${a}><a href=${nt(n,Vt[e],a,o)}>${j(a)}</a>${" "}<//>`):"none":typeof t=="object"?JSON.stringify(t)==="[]"?"none":i`<code>${JSON.stringify(t)}</code>`:String(t)}function ot(){let e=Z(null),[t,n]=E(600);return D(()=>{let o=new ResizeObserver(([a])=>n(Math.round(a.contentRect.width)));return o.observe(e.current),()=>o.disconnect()},[]),[e,t]}var be=220,[ye,Kt,rt,at]=[52,12,10,24],Xo=4,st=36e5,Za={1:st/6,6:st,24:4*st},Qa=420,es=36,qt=e=>Date.parse(`${e}Z`),Xt=e=>new Date(e).toISOString().slice(11,16),ts=e=>ee(e).replace(/\.0+(?= |$)/,""),fe=e=>e!=null;function ns(e){let t=10**Math.floor(Math.log10(e));return[1,2,4,6,8,10].find(n=>n*t>=e*.9999)*t}function zt(e,t,n){let o=[],a=null;for(let r of e){if(!fe(r[t])){a=null;continue}a!==null&&r.time-a<=n?o[o.length-1].push(r):o.push([r]),a=r.time}return o}function Yt(e,t,n,o,a){let r=[],s=n;for(let c of e)t.some(d=>fe(c[d]))&&(c.time-s>a&&r.push([s,c.time]),s=c.time);return o-s>a&&r.push([s,o]),r}function qo({title:e,unit:t,figures:n,points:o,hours:a,stepMs:r,to:s,sparse:c}){let[d,l]=ot(),[u,$]=E(null),p=s-a*st,m=o.map(b=>({...b,time:qt(b.at)})).filter(b=>b.time>=p),v=n.map(([b])=>b),g=r*1.75,w=m.flatMap(b=>v.map(B=>b[B])).filter(fe),f=Math.max(0,...w),y=f>0?ns(f):1,R=b=>ye+(b-p)/(s-p)*(l-ye-Kt),A=b=>be-at-b/y*(be-rt-at),M=u===null?null:m[Math.min(u,m.length-1)],L=c?m.filter(b=>fe(b[v[0]])).pop():m[m.length-1],q=c||"not known yet",C=b=>v.some(B=>fe(b[B]))?J(b):"not known",J=b=>n.map(([B,se])=>`${se} ${fe(b[B])?`${ee(b[B])} ${t}`:"not known"}`).join(", ");function k(b){if(!m.length)return;let B=p+(b.clientX-b.currentTarget.getBoundingClientRect().left-ye)/(l-ye-Kt)*(s-p);$(m.reduce((se,Le,wr)=>Math.abs(Le.time-B)<Math.abs(m[se].time-B)?wr:se,0))}function X(b){let B={ArrowLeft:-1,ArrowRight:1}[b.key];!B||!m.length||(b.preventDefault(),$(Math.max(0,Math.min(m.length-1,(u===null?m.length:u)+B))))}let Q=Za[a]*(l<Qa?2:1),we=[];for(let b=Math.ceil(p/Q)*Q;b<=s;b+=Q)we.push(b);let he=`unknown-${e.replace(/\W/g,"")}`;return i`<figure class="big chart" ref=${d}>
    <figcaption>
      <span class="name">${e}</span>
      <span class="unit">${t}</span>
      <span class="read" role="status">${M?`${Xt(M.time)} UTC: ${C(M)}`:L?`${c?`last, ${Xt(L.time)}`:"now"}: ${C(L)}`:q}</span>
    </figcaption>
    <svg
      width=${l}
      height=${be}
      role="img"
      tabindex="0"
      aria-label="${e} over the last ${a} h; ${L?C(L):q}. Arrow keys read single points."
      onPointerMove=${k}
      onPointerLeave=${()=>$(null)}
      onKeyDown=${X}
      onBlur=${()=>$(null)}
    >
      <defs>
        <pattern id=${he} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line y2="6" class="hatch" /></pattern>
      </defs>
      ${!c&&Yt(m,v,p,s,g).map(([b,B])=>i`<rect class="unknown" fill="url(#${he})" x=${R(b)} y=${rt} width=${Math.max(0,R(B)-R(b))} height=${be-rt-at} />`)}
      ${Array.from({length:Xo+1},(b,B)=>y*B/Xo).map(b=>i`<g class="axis"><line x1=${ye} x2=${l-Kt} y1=${A(b)} y2=${A(b)} /><text x=${ye-6} y=${A(b)+4} text-anchor="end">${b===0?"0":w.length?ts(b):""}</text></g>`)}
      ${we.map(b=>i`<text class="hour" x=${R(b)} y=${be-6} text-anchor=${l-R(b)<es/2?"end":"middle"}>${Xt(b)}</text>`)}
      ${n.map(([b],B)=>zt(m,b,c?1/0:g).map(se=>se.length>1?i`<polyline class="series-${B}" points=${se.map(Le=>`${R(Le.time).toFixed(1)},${A(Le[b]).toFixed(1)}`).join(" ")} />`:i`<circle class="series-${B}" cx=${R(se[0].time)} cy=${A(se[0][b])} r="3" />`))}
      ${M&&i`<line class="cursor" x1=${R(M.time)} x2=${R(M.time)} y1=${rt} y2=${be-at} />
        ${n.map(([b],B)=>fe(M[b])&&i`<circle class="series-${B} at" cx=${R(M.time)} cy=${A(M[b])} r="4" />`)}`}
    </svg>
    <ul class="legend">
      ${n.map(([,b],B)=>i`<li class="series-${B}">${b}</li>`)}
      ${!c&&i`<li class="gap">not known</li>`}
    </ul>
  </figure>`}var zo=240,it=60,Yo=3,os=1.75;function rs({title:e,figures:t,points:n,seconds:o,to:a}){let r=Object.keys(t),s=n.map(f=>({...f,time:qt(f.at)})),c=s.length?s[0].time:a,d=o*1e3*os,l=Math.max(1e-9,...s.flatMap(f=>r.map(y=>f[y]??0))),u=f=>((f-c)*zo/Math.max(1,a-c)).toFixed(1),$=f=>(it-2-f/l*(it-6)).toFixed(1),p=(f,y)=>{let R=y.map(L=>[u(L.time),$(L[f])]);if(R.length>1)return R.map(L=>L.join(",")).join(" ");let[[A,M]]=R;return`${A-Yo},${M} ${+A+Yo},${M}`},m=s[s.length-1],g=m&&a-m.time<=d?r.map(f=>`${t[f]&&`${t[f]} `}${ee(m[f])}`).join(" "):"not known",w=Xe();return i`<figure class="chart">
    <figcaption>${e} <strong>${g}</strong></figcaption>
    <svg viewBox="0 0 ${zo} ${it}" role="img" aria-label="${e}, now ${g}, at most ${ee(l)}" preserveAspectRatio="none">
      <defs>
        <pattern id=${w} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line y2="6" class="hatch" /></pattern>
      </defs>
      ${Yt(s,r,c,a,d).map(([f,y])=>i`<rect class="unknown" fill="url(#${w})" x=${u(f)} width=${u(y)-u(f)} height=${it} />`)}
      ${r.flatMap((f,y)=>zt(s,f,d).map(R=>i`<polyline class="series-${y}" points=${p(f,R)} />`))}
    </svg>
  </figure>`}var Jt=({lines:e,points:t,seconds:n,to:o})=>i`<div class="charts">
    ${e.map(([a,r])=>i`<${rs} key=${a} title=${a} figures=${r} points=${t} seconds=${n} to=${o} />`)}
  </div>`;var Jo=[["Connections per second",{connections:""}],["Open connections",{active_connections:""}],["Bytes per second",{bytes_in:"in",bytes_out:"out"}],["Errors per second",{request_errors:""}]],as=[...Jo,["Members online",{members_online:"",members:"of"}]];function Zo({id:e,turn:t,listeners:n}){let o=`${h}/loadbalancers/${e}/series`,{data:a,error:r,at:s}=N(()=>_(o),t,[e]);if(r&&r.status===403)return i`<h2>Traffic</h2><${Te} error=${r} />`;if(!a||!a.points||a.points.length<2)return null;let c=a.points[0].at.slice(11,16),[d]=n.length===1?n:[],l=new Map((a.listeners||[]).map(u=>[u.listener_id,u.points]));return i`<h2>Traffic since ${c} UTC${d&&`, all of listener ${ct(d)}`}</h2>
    <${Jt} lines=${as} points=${a.points} seconds=${a.interval} to=${s} />
    ${n.filter(u=>l.has(u.id)).map(u=>i`<${te} key=${u.id}><h3>Listener ${ct(u)}</h3><${Jt} lines=${Jo} points=${l.get(u.id)} seconds=${a.interval} to=${s} /><//>`)}
    <${x} command="evenkeel loadbalancer series ${e}" path=${o} />`}var ct=e=>`${e.protocol} ${e.protocol_port}${e.name&&` (${e.name})`}`;function er({id:e,live:t}){async function n(){let[s,c,d,l,u,$,p,m,v]=await Promise.all([_(`${re}/loadbalancers/${e}`),_(`${re}/listeners?loadbalancer_id=${e}&fields=id&fields=protocol&fields=protocol_port&fields=name`),H(_(`${h}/loadbalancers/${e}/tree`)),H(_(`${h}/loadbalancers/${e}/agent`)),H(_(`${h}/loadbalancers/${e}/history`)),H(_(`${h}/events?object_id=${e}&newest=true&limit=20`)),H(_(`${h}/references?load_balancer_id=${e}`)),H(Ho(e)),H(_(`${h}/agents`))]);return{root:s.loadbalancer,listeners:c.listeners,tree:d.refused?d:Go(d.tree),certificates:p,move:(m.moves||[]).find(g=>g.step!=="done"),groups:(v.agents||[]).map(g=>`${g.environment}/${g.group_number}`),hosting:l.refused?l:l.hosting,history:u,events:$.refused?$:$.events.slice().reverse()}}let{data:o,error:a,again:r}=N(n,t.newest,[e]);return i`<p><a href="#/loadbalancers">All load balancers</a></p>
    <h1>${o?o.root.name||j(e):j(e)}</h1>
    <${O} error=${a} loading=${!o} />
    ${o&&i`<${ss} hosting=${o.hosting} />
      <${cs} data=${o} id=${e} done=${r} />
      <${$s} data=${o} id=${e} />
      <${Zo} id=${e} turn=${o.hosting.applied_revision} listeners=${o.listeners} />
      <${ls} found=${o.certificates} id=${e} />
      <h2>Objects</h2>
      ${o.tree.refused?i`<${O} error=${o.tree.refused} />`:i`<${Gt} node=${o.tree} root=${e} unseen=${!o.hosting.refused&&!(o.hosting.acting&&o.hosting.acting.alive)} />`}
      <${x} command="evenkeel loadbalancer tree ${e}" path="${h}/loadbalancers/${e}/tree" />
      <${ms} id=${e} />
      <${fs} history=${o.history} id=${e} />
      <h2>Events</h2>
      ${o.events.refused?i`<${O} error=${o.events.refused} />`:i`<${Ft} events=${o.events} />`}`}
    <${x} command="evenkeel explain ${e}" path="${h}/loadbalancers/${e}/agent" />`}function ss({hosting:{explanation:e}}){if(!e)return null;let{state:t,action:n}=e;return n===is?i`<p class="verdict good"><span aria-hidden="true">●</span> ${Qo(t)}. No action is needed.</p>`:i`<div class="problem explained">
    <p><strong>▲ ${Qo(t)}.</strong></p>
    <p>What to do: ${n} <${Pe} text=${n} about="what to do" /></p>
  </div>`}var is="nothing",Qo=e=>e.slice(0,1).toUpperCase()+e.slice(1);function cs({data:{root:e,hosting:t,move:n,groups:o},id:a,done:r}){if(t.refused)return null;let s=e.name||j(a),c=t.shard&&`${t.shard.environment}/${t.shard.group_number}`,d=[...new Set(o)].filter(l=>l!==c).sort();return i`<${Y} names=${["loadbalancer_failover","move_create","loadbalancer_import"]}>
    ${!t.held&&i`<${T}
      name="loadbalancer_failover"
      label="Apply again"
      about=${s}
      params=${{id:a}}
      facts=${t.acting?`${t.acting.host} serves it now.`:"No agent serves it now."}
      plan=${async()=>({view:i`<p>What the next pass would change:</p><${Ne} plan=${(await ne(`${h}/loadbalancers/${a}/plan`,void 0,tr)).plan} />`})}
      command=${()=>`openstack loadbalancer failover ${a}`}
      watch=${()=>S.applied(a)}
      done=${r}
    />`}
    ${t.held&&i`<${T}
      name="loadbalancer_import"
      label="Release to devices"
      about=${s}
      params=${{id:a}}
      facts=${`Has the other system stopped answering for ${e.vip_address}?`}
      body=${()=>({held:!1})}
      command=${()=>`evenkeel switch-over ${a}`}
      watch=${()=>S.activeAgain(a)}
      done=${r}
    />`}
    ${n?i`<${tt} move=${n} done=${r} />`:i`<${Bo} id=${a} name=${s} groups=${d} done=${r} />`}
  <//>`}function ls({found:e,id:t}){return e.references&&!e.references.length?null:i`<h2>Certificates</h2>
    <${O} error=${e.refused} />
    ${e.references&&i`<${It} rows=${e.references} caption="Certificates of this load balancer" empty="" />`}
    <${x} command="evenkeel certificate list --expiring" path="${h}/references?load_balancer_id=${t}" />`}var ds=e=>e.map(ct).join(", ")||"none",us=e=>i`<code>${e}</code> <${Pe} text=${e} about="the id" />`;function $s({data:{root:e,hosting:t,listeners:n},id:o}){if(t.refused)return i`<${ps} root=${e} /><${O} error=${t.refused} />`;let a=t.revision-t.applied_revision;return i`<${le}
    facts=${[["Id",us(o),"long"],["VIP",e.vip_address],["Listeners",ds(n)],["Environment",t.shard?`${t.shard.environment}, device group ${t.shard.group_number}`:`${e.provider}, not placed yet`],["Project",i`<a href=${W("loadbalancers",{project_id:e.project_id})}>${e.project_id}</a>`],["Flavor",e.flavor_id||""],["Data path",t.data_path==="kernel"?"kernel":""],["Availability zone",e.availability_zone||""],["Provisioning",i`<${P} value=${t.provisioning_status} /> ${t.status_reason}`],["Operating",i`<${P} value=${t.operating_status} /> ${t.operating_reason}`],["Desired revision",t.revision],["On the devices",`${t.applied_revision}${a?` (${a} behind)`:" (the same)"}`],["Written by",t.acting?i`<a href="#/agents/${t.acting.id}">${t.acting.host}</a>, epoch ${t.shard.epoch}`:"no agent"],["Home",t.home?i`<a href="#/agents/${t.home.id}">${t.home.host}</a>`:"none"],["Before it in line",t.ahead||""]]}
  />`}function ps({root:e}){return i`<${le}
    facts=${[["VIP",e.vip_address],["Project",e.project_id],["Provisioning",i`<${P} value=${e.provisioning_status} /> ${e.status_reason}`],["Operating",i`<${P} value=${e.operating_status} />`]]}
  />`}var tr=3e4;function ms({id:e}){let[t,n]=E({plan:null,error:null,asking:!1});async function o(){n({plan:null,error:null,asking:!0});try{n({plan:(await ne(`${h}/loadbalancers/${e}/plan`,void 0,tr)).plan,error:null,asking:!1})}catch(a){n({plan:null,error:a,asking:!1})}}return i`<section aria-labelledby="difference">
    <h2 id="difference">Desired and observed</h2>
    <p><button type="button" onClick=${o} disabled=${t.asking}>Compare with the devices</button>${" "}
      Its agent reads the devices and says what its next pass would change. Nothing is changed.</p>
    <div aria-live="polite">
      ${t.asking&&i`<p>Asking the agent…</p>`}
      <${O} error=${t.error} />
      ${t.plan&&i`<${Ne} plan=${t.plan} />`}
    </div>
    <${x} command="evenkeel plan ${e}" path="${h}/loadbalancers/${e}/plan" method="POST" />
  </section>`}function fs({history:e,id:t}){let n=e.history||[];return i`<h2>History</h2>
    <${O} error=${e.refused} />
    ${e.history&&!n.length&&i`<p class="empty">No revision is known: it was made before revisions were kept.</p>`}
    <ol class="timeline" aria-label="Revisions">
      ${n.map(o=>i`<${hs} key=${o.revision} row=${o} />`)}
    </ol>
    <${x} command="evenkeel loadbalancer history ${t}" path="${h}/loadbalancers/${t}/history" />`}function hs({row:e}){let[t,n]=e.applied_at?["good","●"]:e.problem?["bad","▲"]:["other","◌"],o=e.host&&i`<a href="#/agents/${e.agent_id}">${e.host}</a>, epoch ${e.epoch}`;return i`<li class=${t}>
    <span class="status ${t}" aria-hidden="true">${n}</span>
    <div>
      <p><strong>Revision ${e.revision}</strong> <time>${pe(e.accepted_at)}</time></p>
      <p>Asked for by ${_s(e)}${e.request_id&&i` <code>${e.request_id}</code>`}</p>
      ${e.applied_at?i`<p>Applied by ${o} <time>${pe(e.applied_at)}</time>, after ${e.seconds.toFixed(2)} s</p>`:e.problem?i`<p>Failed${e.host&&i`, tried by ${o}`}: ${e.problem}</p>`:i`<p>Not on the devices yet</p>`}
    </div>
  </li>`}function _s(e){return e.request_id?`${e.user||"an unnamed user (no authentication)"}${e.project_id&&` (project ${j(e.project_id)})`}`:"the controllers (certificate or network)"}var Zt=`${h}/moves`,gs="{id}";function nr({live:e}){async function t(){let[r,s,c,d,l]=await Promise.all([H(_(Zt)),_(`${h}/shards`),_(`${h}/database`),_(`${h}/environments`),_(`${h}/agents`)]);return{moves:r,database:c.database,common:s.shards.filter(u=>!u.project_id),environments:d.environments,agents:l.agents}}let{data:n,error:o,again:a}=N(t,e.newest);return i`<h1>Maintenance</h1>
    <${O} error=${o} loading=${!n} />
    ${n&&i`<${vs} data=${n} done=${a} /><${ys} groups=${n.common} /><${ws} database=${n.database} done=${a} />`}`}function vs({data:{moves:e,agents:t,environments:n},done:o}){let a=[["Load balancer",s=>i`<a href="#/loadbalancers/${s.load_balancer_id}">${s.name||j(s.load_balancer_id)}</a>`],["Step",s=>i`<${P} value=${s.step} />${s.back?" (back)":""}`],["From",s=>s.source],["To",s=>s.target],["Reason",s=>s.reason],["Gap",s=>s.gap_seconds===null?"":`${s.gap_seconds.toFixed(2)} s`],["Action",s=>s.step!=="done"&&i`<${tt} move=${s} done=${o} />`]],r=e.moves&&e.moves.map(s=>({...s,id:s.load_balancer_id}));return i`<h2>Moves to other device groups</h2>
    <${O} error=${e.refused} />
    <${V} caption="Moves" columns=${a} rows=${r} empty="None was made yet." />
    ${!e.refused&&i`<${Y} names=${["move_create"]}><${bs} agents=${t} environments=${n} done=${o} /><//>`}
    <${x} command="evenkeel moves" path=${Zt} />`}function bs({agents:e,environments:t,done:n}){let o=[...new Set(e.map(r=>r.group_number))].sort((r,s)=>r-s),a=({project_id:r,environment:s,to_group:c},d)=>({move:{project_id:r,environment:s,to_group:Number(c),apply:d}});return!t.length||!o.length?null:i`<${T}
    name="move_create"
    label="Move a project"
    fields=${[{name:"project_id",label:"Project (id)",required:!0},{name:"environment",label:"Environment",options:t.map(r=>[r.name,r.name])},{name:"to_group",label:"To device group",options:o.map(r=>[String(r),String(r)])}]}
    plan=${async r=>r.project_id?Ht((await ne(Zt,a(r,!1))).move):{problem:"Name the project."}}
    body=${r=>a(r,!0)}
    command=${({project_id:r,environment:s,to_group:c})=>`evenkeel move --project ${r} --environment ${s} --to-group ${c} --yes`}
    watch=${r=>{let s=r.move.loadbalancers.map(c=>c.load_balancer_id);return s.length===1?S.moved(s[0]):S.movedAll(s)}}
    done=${n}
  />`}function ys({groups:e}){let[t,n]=E({asking:!1});async function o(){n({asking:!0});let r=await Promise.all(e.map(s=>ze(s)));n({asking:!1,rows:r.flatMap(s=>s.rows),problems:r.map(s=>s.problem).filter(Boolean)})}let a=[["What",r=>r.kind],["Id",r=>i`<code>${r.id}</code>`],["Device group",r=>r.place],["Known for",r=>`${r.seconds} s`],["Removed",r=>r.removed_in_seconds===null||r.removed_in_seconds===void 0?"not by itself":`in ${r.removed_in_seconds} s`],["Action",r=>r.kind==="load balancer"&&i`<${T}
      name="orphan_delete"
      label="Remove"
      about=${j(r.id)}
      params=${{id:r.id}}
      facts=${`${r.devices} of device group ${r.place} hold it.`}
      command=${()=>`evenkeel orphan remove ${r.id}`}
      watch=${()=>S.orphanRemoved(r.shard,r.id)}
    />`]];return i`<h2>On devices, but not in the database</h2>
    <p><button type="button" onClick=${o} disabled=${t.asking}>Look for orphans</button> Agents compare their devices with the database once a minute and after each complete pass. Nothing is changed.</p>
    <div aria-live="polite">
      ${t.asking&&i`<p>Asking the agents…</p>`}
      ${(t.problems||[]).map(r=>i`<p class="failure">${r}</p>`)}
      ${t.rows&&i`<${V} caption="Orphans" columns=${a} rows=${t.rows} empty="Devices hold nothing that the database does not know, by the last comparison." />`}
    </div>
    <${x} command="evenkeel orphan list" path="${h}/shards/${gs}/orphans" method="POST" />`}function ws({database:e,done:t}){return i`<h2>Database</h2>
    <${le}
      facts=${[["History",i`<code>${e.history_id}</code>`],["Since",e.begun_at?`${pe(e.begun_at)} UTC`:"the database was created"]]}
    />
    ${e.unknown_histories.map(n=>i`<div key=${n.history_id} class="problem">
        <p>▲ An agent saw history <code>${n.history_id}</code> ${oe(n.noted_at)} ago, which this database never had: nothing is removed from devices.</p>
        <${T}
          name="database_accept_history"
          label="Accept history"
          about=${j(n.history_id)}
          params=${{id:n.history_id}}
          command=${()=>`evenkeel database accept-history ${n.history_id}`}
          watch=${()=>S.historyAccepted(n.history_id)}
          done=${t}
        />
      </div>`)}
    <${Y} names=${["database_new_history"]}>
      <${T}
        name="database_new_history"
        label="Begin a new history"
        facts="Only after a backup was restored, or the database has lost changes."
        command=${()=>"evenkeel database new-history"}
        watch=${n=>S.seen(`history ${n.database.history_id} has begun; agents check everything`)}
        done=${t}
      />
    <//>
    <${x} command="evenkeel database show" path="${h}/database" />`}var Me=`${h}/subnets`,je=`${h}/networks`,ks=["vlan","vxlan","gre","flat"].map(e=>[e,e]),Qt="Addresses, or ranges like 10.0.0.1-10.0.0.9, one a line";function ar({live:e}){async function t(){let[r,s]=await Promise.all([H(_(Me)),H(_(je))]);return{subnets:r,networks:s}}let{data:n,error:o,again:a}=N(t,e.newest);return i`<h1>Networks</h1>
    <${O} error=${o} loading=${!n} />
    ${n&&i`<${As} found=${n.subnets} done=${a} /><${xs} found=${n.networks} done=${a} />`}`}function As({found:e,done:t}){let n=[["Name",o=>o.name],["CIDR",o=>i`<code>${o.cidr}</code>`],["VIPs from",o=>`${o.allocation_start} to ${o.allocation_end}`],["Gateway",o=>o.gateway_ip||"none"],["Never VIPs",o=>o.reserved.join(", ")],["For devices",o=>o.device_addresses.join(", ")],["Project",o=>o.project_id||"all"],["Action",o=>i`<div class="actions">
      <${T}
        name="subnet_update"
        label="Change"
        about=${o.name}
        params=${{id:o.id}}
        fields=${[{name:"addresses",label:"Addresses for devices",kind:"lines",help:Qt,initial:o.device_addresses.join(`
`)}]}
        body=${({addresses:a})=>({subnet:{device_addresses:ae(a)}})}
        command=${({addresses:a})=>`evenkeel subnet set ${o.name}${ae(a).map(r=>` --device-addresses ${r}`).join("")}`}
        watch=${({subnet:{id:a,device_addresses:r}})=>S.listed(Me,"subnets",{id:a,device_addresses:r},`devices may have ${r.join(", ")||"none"}`)}
        done=${t}
      />
      <${T} name="subnet_delete" label="Delete" about=${o.name} params=${{id:o.id}} command=${()=>`evenkeel subnet delete ${o.name}`} watch=${()=>S.unlisted(Me,"subnets",{id:o.id})} done=${t} />
    </div>`]];return i`<h2>Address pools</h2>
    <${O} error=${e.refused} />
    <${V} caption="Address pools" columns=${n} rows=${e.subnets} empty="There is none: VIPs have no addresses yet." />
    ${!e.refused&&i`<${Y} names=${["subnet_create"]}>
      <${T}
        name="subnet_create"
        label="Create address pool"
        fields=${[{name:"name",label:"Name",required:!0},{name:"cidr",label:"CIDR",required:!0,hint:"10.0.0.0/24"},{name:"network_id",label:"Network (id)"},{name:"gateway_ip",label:"Gateway"},{name:"allocation_start",label:"First address of VIPs"},{name:"allocation_end",label:"Last address of VIPs"},{name:"reserved",label:"Never VIPs",kind:"lines",help:Qt},{name:"device_addresses",label:"For devices",kind:"lines",help:Qt},{name:"project_id",label:"Only for this project (id)"}]}
        body=${({reserved:o,device_addresses:a,...r})=>({subnet:{...de(r),...Ss({reserved:o,device_addresses:a})}})}
        command=${({name:o,cidr:a})=>`evenkeel subnet create ${o} --cidr ${a}`}
        watch=${({subnet:{id:o,allocation_start:a,allocation_end:r}})=>S.listed(Me,"subnets",{id:o},`VIPs from ${a} to ${r}`)}
        done=${t}
      />
    <//>`}
    <${x} command="evenkeel subnet list" path=${Me} />`}var Ss=e=>Object.fromEntries(Object.entries(e).map(([t,n])=>[t,ae(n)]).filter(([,t])=>t.length)),or=(e={})=>[{name:"name",label:"Name",required:!0,initial:e.name||""},{name:"physical_network",label:"Physical network (flat, vlan)",initial:e.physical_network||""},{name:"segmentation_id",label:"VLAN id, VNI or GRE key",initial:String(e.segmentation_id??"")},{name:"mtu",label:"MTU in bytes (empty: the device's)",initial:String(e.mtu??"")},{name:"vteps",label:"Tunnel end points of hosts, one a line",kind:"lines",initial:(e.vteps||[]).join(`
`)},{name:"shared",label:"Used by several projects",kind:"checkbox",initial:e.shared||!1},{name:"external",label:"An external network",kind:"checkbox",initial:e.external||!1}];function rr({segmentation_id:e,mtu:t,vteps:n,shared:o,external:a,...r}){let s=Object.fromEntries(Object.entries(de({segmentation_id:e,mtu:t})).map(([c,d])=>[c,Number(d)]));return{...de(r),...s,vteps:ae(n),shared:o,external:a}}function xs({found:e,done:t}){let n=[["Name",o=>o.name],["Type",o=>o.network_type],["Segment",o=>o.segmentation_id??""],["Physical network",o=>o.physical_network||""],["MTU",o=>o.mtu??""],["Tunnel end points",o=>o.vteps.join(", ")],["Of",o=>o.from_service?"the network service":o.shared?"several projects":o.project_id||"anybody"],["Action",o=>!o.from_service&&i`<div class="actions">
      <${T}
        name="network_update"
        label="Change"
        about=${o.name}
        params=${{id:o.id}}
        fields=${or(o)}
        body=${a=>({network:rr(a)})}
        command=${({name:a})=>`evenkeel network set ${o.id} --name ${a} …`}
        watch=${a=>S.listed(je,"networks",a.network,"it is changed")}
        done=${t}
      />
      <${T} name="network_delete" label="Delete" about=${o.name} params=${{id:o.id}} command=${()=>`evenkeel network delete ${o.id}`} watch=${()=>S.unlisted(je,"networks",{id:o.id})} done=${t} />
    </div>`]];return i`<h2>Declared networks</h2>
    <${O} error=${e.refused} />
    <${V} caption="Declared networks" columns=${n} rows=${e.networks} empty="None: devices are attached to no network of the built-in service." />
    ${!e.refused&&i`<${Y} names=${["network_create"]}>
      <${T}
        name="network_create"
        label="Declare network"
        fields=${[{name:"network_type",label:"Type",options:ks},...or(),{name:"project_id",label:"Only for this project (id)"}]}
        body=${o=>({network:rr(o)})}
        command=${({name:o,network_type:a})=>`evenkeel network create ${o} --type ${a} …`}
        watch=${o=>S.listed(je,"networks",{id:o.network.id},"it is there")}
        done=${t}
      />
    <//>`}
    <${x} command="evenkeel network list" path=${je} />`}var Os={basic:"password",keystone:"token",gateway:"gateway"};function sr({wrong:e,done:t}){let[n,o]=E("");D(()=>{Bn().then(r=>o(Os[r]||"none"))},[]);function a(r){r.preventDefault();let s=new FormData(r.target);jn(n==="password"?Hn(s.get("name"),s.get("password")):Wn(s.get("token").trim())),t()}return i`<main class="login">
    <h1><${Ot} /> Even Keel</h1>
    ${e&&i`<p class="failure" role="alert">${e}</p>`}
    ${n==="gateway"&&i`<p>This controller is behind a gateway, which logs you in. Load this page from the gateway's address.</p>`}
    ${(n==="password"||n==="token")&&i`<form onSubmit=${a}>
      ${n==="password"?i`<label>Name <input name="name" autocomplete="username" autocapitalize="none" spellcheck="false" required /></label>
            <label>Password <input name="password" type="password" autocomplete="current-password" required /></label>`:i`<label>Keystone token <input name="token" type="password" autocomplete="off" required /></label>
            <p class="hint">As <code>openstack token issue -f value -c id</code> prints it.</p>`}
      <button type="submit" class="confirm">Log in</button>
    </form>`}
    <${Et} />
  </main>`}function ir(e,t,n){if(e.status===403&&n){let o=n.roles.length?`has only ${n.roles.length===1?"the role":"the roles"} ${n.roles.join(", ")}`:"has no role";return`${n.user} is logged in, but ${o}, with which nothing here may be read.${e.roles.length?` It takes one of ${e.roles.join(", ")}.`:""}`}return e.status!==401?e.message:t==="password"?"The name or the password is wrong.":t==="token"?"Keystone does not accept this token: it is mistyped or has expired.":""}var Es=`${h}/activity`,cr=[1,6,24],Ts=360,Ps=[{title:"API requests",unit:"/s",figures:[["requests","answered"],["failed_requests","failed"]]},{title:"Time to ACTIVE",unit:"s",figures:[["time_to_active_seconds","mean"]],sparse:"no change in this time"},{title:"Traffic",unit:"B/s",figures:[["bytes_in","in"],["bytes_out","out"]]},{title:"Connections",unit:"/s",figures:[["connections","new"]]}];function lr({query:e}){let t=cr.includes(Number(e.hours))?Number(e.hours):1,n=`${Es}?hours=${t}`,{data:o,error:a,at:r}=N(async()=>({...(await _(n)).activity,hours:t}),0,[n]);return i`<section aria-labelledby="activity">
    <div class="heading">
      <h2 id="activity">API requests, time to ACTIVE and traffic</h2>
      <nav class="spans" aria-label="Span">
        ${cr.map(s=>i`<a href=${W("",{hours:s===1?"":String(s)})} aria-current=${s===t?"true":null}>${s} h</a>`)}
      </nav>
    </div>
    <${O} error=${a} loading=${!o} />
    ${o&&i`<${Rs} data=${o} to=${r} />`}
    <${x} command="evenkeel activity" path=${n} />
  </section>`}function Rs({data:e,to:t}){let{requests:n,time_to_active:o,points:a,hours:r}=e,s=e.interval*1e3*Math.max(1,Math.ceil(r*3600/e.interval/Ts));return i`<p class="live">
      This controller process since ${pe(e.since)} UTC: ${ee(n.count)} API requests, ${ee(n.failed)} failed,
      ${n.mean_seconds===null?"":` ${Math.round(n.mean_seconds*1e3)} ms on average;`}
      ${o.count?` ${ee(o.count)} ${o.count===1?"change":"changes"} became ACTIVE by reports to it, half of them within ${ee(o.median_seconds)} s, 95 % within ${ee(o.p95_seconds)} s.`:" no change became ACTIVE by a report to it."}
      ${" "}Other controllers count their own. Traffic is that of all load balancers.
    </p>
    ${a.length?"":i`<p class="empty">${e.reason}</p>`}
    <div class="bigs">${Ps.map(c=>i`<${qo} key=${c.title} ...${c} points=${a} hours=${r} stepMs=${s} to=${t} />`)}</div>`}function pr({live:e,query:t}){let{data:n,error:o}=N(async()=>(await _(`${h}/status`)).status,e.newest);return i`<h1>Overview</h1>
    <${O} error=${o} loading=${!n} />
    ${n&&i`<${Ns} status=${n} /><${Ms} problems=${n.problems} /><${Is} status=${n} />`}
    <${x} command="evenkeel status" path="${h}/status" />
    <${lr} query=${t} />
    <h2>Latest events</h2>
    <${Ut} live=${e} most=${8} />
    <${x} command="evenkeel events" path="${h}/events?newest=true" />`}var Ds=new Set(["ONLINE","NO_MONITOR"]),mr=e=>Object.values(e).reduce((t,n)=>t+n,0),fr=e=>e.load_balancers_operating??{};function Ns({status:e}){if(e.problems.length)return null;let t=fr(e),n=Object.entries(t).filter(([s,c])=>c&&!Ds.has(s)),o=mr(t);if(!n.length)return i`<p class="verdict good"><span aria-hidden="true">●</span> Nothing is wrong.</p>`;let a=W("loadbalancers",{operating_status:n.map(([s])=>s).join(",")}),r=n.reduce((s,[,c])=>s+c,0);return i`<p class="verdict unsure">
    <span aria-hidden="true">◆</span> No fault of the system is known, but <a href=${a}>${r.toLocaleString("en")} of ${o.toLocaleString("en")} ${o===1?"load balancer is":"load balancers are"} not ONLINE</a>:
    without listeners or healthy members, disabled, held, just made, or not observed by an agent.
  </p>`}var dr={agent:e=>`#/agents/${e}`,environment:()=>"#/environments",device_group:()=>"#/devices",load_balancer:e=>`#/loadbalancers/${e}`,load_balancers:e=>`#/loadbalancers?${e}`,shards:()=>"#/topology",certificates:e=>`#/certificates?${e}`,controllers:()=>"#/controllers",devices:()=>"#/devices"};function Cs(e){let t={};return e.map(n=>{let[{kind:o,id:a}]=[...n.objects||[],{kind:"",id:""}],r=`${n.kind} ${o} ${a}`;return t[r]=(t[r]||0)+1,[`${r} ${t[r]}`,n]})}function Ms({problems:e}){return e.length?i`<section class="problems" aria-label="Problems">
    <h2>${e.length} ${e.length===1?"problem":"problems"}</h2>
    <ul>
      ${Cs(e).map(([t,n])=>i`<${js} key=${t} problem=${n} />`)}
    </ul>
  </section>`:null}function js({problem:{text:e,remedy:t,objects:n=[],commands:o=[]}}){return i`<li class="problem">
    <h3><span aria-hidden="true">▲</span> ${e}</h3>
    ${n.length>0&&i`<p class="about">See ${n.map((a,r)=>i`<${te} key=${`${a.kind} ${a.id}`}>${r>0&&", "}<a href=${dr[a.kind]?dr[a.kind](a.id):"#/"}>${a.name}</a><//>`)}</p>`}
    ${o.length?i`<ul class="commands">
          ${o.map(a=>i`<li key=${`${a.host} ${a.command}`}>${(a.host||a.condition)&&i`<span class="host">${a.host?`on ${a.host}`:a.condition}</span>`} <code>${a.command}</code> <${Pe} text=${a.command} about=${a.command} /></li>`)}
        </ul>`:i`<p class="about">What helps: ${t}</p>`}
  </li>`}function ur({title:e,counts:t,filter:n}){let o=Object.entries(t).filter(([,r])=>r).sort(([r],[s])=>$r.indexOf(Ee(r))-$r.indexOf(Ee(s))),a=mr(t);return i`<section class="panel" aria-label=${e}>
    <h2>${e}</h2>
    <p class="value"><a href="#/loadbalancers">${a.toLocaleString("en")}</a> <span class="dim">${a===1?"load balancer":"load balancers"}</span></p>
    <div class="bar" aria-hidden="true">${o.map(([r,s])=>i`<span key=${r} class=${Ee(r)} style=${{flexGrow:s}}></span>`)}</div>
    <ul>
      ${o.map(([r,s])=>i`<li key=${r}><a href=${W("loadbalancers",{[n]:r})}><${P} value=${r} /> <span class="count">${s.toLocaleString("en")}</span></a></li>`)}
    </ul>
  </section>`}var $r=["bad","unsure","other","good"];function Is({status:e}){let{agents:t,shards:n}=e,o=e.message_broker==="connected",a=[["Agents up",`${t.up} of ${t.up+t.down}`,t.down>0&&i`<${P} value="silent" /> or stopped: ${t.down}`,"#/agents"],["Shards",n.total,n.unserved>0&&i`<${P} value="unserved" /> ${n.unserved}`,"#/topology"],["Oldest PENDING",`${e.oldest_pending_seconds} s`,null,W("loadbalancers",{provisioning_status:"PENDING_CREATE,PENDING_UPDATE,PENDING_DELETE"})],["Message broker",o?"connected":"away",!o&&i`<${P} value="out of reach" />`,"#/controllers"]];return i`<div class="panels">
      <${ur} title="Operating: as agents observe it" counts=${fr(e)} filter="operating_status" />
      <${ur} title="Provisioning: what devices have" counts=${e.load_balancers} filter="provisioning_status" />
    </div>
    <ul class="cards">
      ${a.map(([r,s,c,d])=>i`<li key=${r}><a href=${d}><span class="title">${r}</span> <span class="value">${s}</span></a> ${c&&i`<p class="more">${c}</p>`}</li>`)}
    </ul>`}var Ls=e=>e<640;function hr(e,t){let n=Math.floor(t/6.7);return e.length>n?`${e.slice(0,n-1)}…`:e}var _r=(e,t)=>e.find(n=>n.length*6.7<=t)||e[e.length-1],en=(e,t,n)=>Math.round(Math.max(e,Math.min(t,n)));function Fs(e,t){let n=e.map(r=>({agent:r,lines:t.filter(s=>s.agent===r.id)})),o=new Set(e.map(r=>r.id)),a=t.filter(r=>!o.has(r.agent));return a.length?[...n,{agent:null,lines:a}]:n}function gr(e,t){return(Ls(t)?Bs:Us)({...e,blocks:Fs(e.agents,e.lines)},t)}function Us({controllers:e,devices:t,blocks:n},o){let a={controller:en(110,o*.14,160),agent:en(130,o*.17,200),device:en(170,o*.22,270)},r={bus:6+a.controller+24};r.agent=r.bus+26+24,r.device=o-a.device-12;let s=n.map(f=>Math.max(28,f.lines.length*26)+10),c=Math.max(s.reduce((f,y)=>f+y,0),e.length*38,t.length*38+10,100),d=c+12,l=[],u=[],$=[],p=(f,y,R,A)=>{let M=(d-f.length*38+10)/2;return f.map(L=>{let q={kind:y,object:L,x:R,y:M,width:A,height:28};return M+=38,l.push(q),q})};for(let f of p(e,"controller",6,a.controller))u.push({d:`M${f.x+f.width} ${f.y+28/2} H${r.bus}`,cut:!f.object.alive});l.push({kind:"bus",x:r.bus,y:6,width:26,height:d-12,upright:!0});let m=(c-s.reduce((f,y)=>f+y,0))/n.length,v=r.agent+a.agent,g=r.device-6,w=6;return n.forEach((f,y)=>{let R=s[y]+m,A=w+R/2;f.agent&&(l.push({kind:"agent",object:f.agent,x:r.agent,y:A-28/2,width:a.agent,height:28}),u.push({d:`M${r.bus+26} ${A} H${r.agent}`,cut:!f.agent.alive})),f.lines.forEach((M,L)=>{let q=A+(L-(f.lines.length-1)/2)*26,C=v+56;$.push({line:M,d:f.agent?`M${v} ${A} C${v+28} ${A} ${v+20} ${q} ${v+48} ${q} H${g}`:`M${C-8} ${q} H${g}`,x:C,y:q+4,text:_r(M.texts,g-C-16)})}),w+=R}),p(t,"device",r.device,a.device),{height:d,boxes:l,links:u,lines:$,frame:{x:g,y:6,width:o-g-1,height:d-12}}}function Bs({controllers:e,devices:t,blocks:n},o){let a=[],r=[],s=[],c=(o-12-10)/2,l=6+Math.ceil(e.length/2)*38+6;e.forEach((g,w)=>{let f={kind:"controller",object:g,x:6+w%2*(c+10),y:6+Math.floor(w/2)*38,width:c,height:28};a.push(f),r.push({d:`M${f.x+c/2} ${f.y+28} V${l}`,cut:!g.alive})}),a.push({kind:"bus",x:6,y:l,width:o-12,height:26});let u=o-22,$=28,p=l+26+10,m=[];for(let g of n){g.agent&&(a.push({kind:"agent",object:g.agent,x:$,y:p,width:u-$-34,height:28}),r.push({d:`M14 ${l+26} V${p+28/2} H${$}`,cut:!g.agent.alive}),p+=28);for(let w of g.lines){let f=p+13+2,y=g.agent?`M${$+12} ${p-(g.lines.indexOf(w)?26/2-2:0)} V${f}`:`M${$+12} ${f}`;m.push({line:w,from:`${y} H${u}`,x:$+26,y:f+4,text:_r(w.texts,u-$-40)}),p+=26}p+=10}let v={x:6,y:p,width:o-12,height:t.length*38+10};for(let{from:g,...w}of m)s.push({...w,d:`${g} V${v.y}`});return t.forEach((g,w)=>a.push({kind:"device",object:g,x:12,y:p+10+w*38,width:o-24,height:28})),{height:p+v.height+6,boxes:a,links:r,lines:s,frame:v}}var Hs=2e4,tn=400,on="no agent",Ws=async()=>(await _(`${h}/topology`)).topology;function br({live:e,query:t}){let{data:n,error:o}=N(Ws,e.newest);return i`<h1>Topology</h1>
    <p>A line is a shard, one tenant on a device group: it goes from the agent that may write to the devices, with its epoch. At a takeover the line moves and the epoch grows.</p>
    <ul class="key">
      <li><span class="owner"></span> may write, for a tenant</li>
      <li><span class="owner common"></span> may write what tenants share</li>
      <li><span></span> connected</li>
      <li><span class="cut"></span> away</li>
    </ul>
    <${O} error=${o} loading=${!n} />
    ${n&&!n.groups.length&&i`<p class="empty">No agent has registered yet.</p>`}
    ${n&&n.groups.map(a=>i`<${Js} key=${yr(a)} group=${a} topology=${n} opened=${Vs(t)} turn=${e.newest} events=${e.events} />`)}
    <${x} command="evenkeel shard list" path="${h}/topology" />`}var yr=e=>`${e.environment}/${e.group_number}`,Vs=e=>(e.open||"").split(",").filter(Boolean),Ie=e=>!e.project_id,nn=e=>e.lines.length>0&&e.shards.every(Ie);async function Gs(e){let n=(await Promise.all(e.agents.map(o=>_(`${h}/shards?agent_id=${o.id}`)))).flatMap(o=>o.shards);return[...new Map(n.map(o=>[o.id,o])).values()]}function Ks(e,{environment:t,group_number:n}){return e.map(o=>{let a=o.project_id||"common",r=`epoch ${o.epoch}`;return{key:o.id,agent:o.acting_agent_id,project:o.project_id,name:Ie(o)?"the common shard":j(a),common:Ie(o),epoch:o.epoch,texts:[`${a} · ${r}`,`${j(a)} · ${r}`],told:`${Ie(o)?"What tenants share":`Project ${a}`}: ${r}`,link:Ie(o)?o.acting_agent_id&&`#/agents/${o.acting_agent_id}`:W("loadbalancers",{environment:t,group_number:String(n),project_id:o.project_id}),served:o.served}})}function Xs(e){let t=new Set(e.agents.filter(n=>n.alive).map(n=>n.id));return e.lines.map(n=>{let o=`${n.shards.toLocaleString("en")} ${n.shards===1?"tenant":"tenants"}`;return{key:n.agent_id||"none",agent:n.agent_id,texts:[`${o} · epochs to ${n.newest_epoch}`,o],told:`${o}, epochs to ${n.newest_epoch}`,link:n.agent_id&&`#/agents/${n.agent_id}`,served:t.has(n.agent_id)}})}function qs(e,t){let n=new Map(t.map((a,r)=>[a.id,r])),o=a=>n.get(a.agent)??n.size;return e.sort((a,r)=>o(a)-o(r)||+!!r.common-+!!a.common||a.key.localeCompare(r.key))}var vr={shard_taken_over:": taken over, because its agent is gone",shard_handed_over:": handed over as planned"};function zs(e,t){let n=e.project?`project ${e.project} `:"common shard ",o=t.find(a=>vr[a.kind]&&a.text.includes(n)&&a.text.endsWith(`, epoch ${e.epoch}`));return o?vr[o.kind]:""}function Ys(e,t,n){let o=Z(new Map),[a,r]=E([]),s=t.map(c=>`${c.key} ${c.agent} ${c.epoch}`).join(";");return D(()=>{let c=o.current,l=t.filter(u=>u.name&&u.agent&&c.has(u.key)&&c.get(u.key)!==u.agent).map(u=>`${u.name} moved from ${lt(e.agents,c.get(u.key))} to ${lt(e.agents,u.agent)}, epoch ${u.epoch}${zs(u,n)}`);o.current=new Map(t.map(u=>[u.key,u.agent||c.get(u.key)])),l.length&&r(l)},[s]),D(()=>{if(!a.length)return;let c=setTimeout(()=>r([]),Hs);return()=>clearTimeout(c)},[a]),a}function Js({group:e,topology:t,opened:n,turn:o,events:a}){let r=yr(e),s=nn(e)&&n.includes(r),{data:c,error:d}=N(async()=>s?Gs(e):null,o,[s]),l=s&&c?c:e.shards,u=qs([...Ks(l,e),...nn(e)&&l===e.shards?Xs(e):[]],e.agents),$=u.slice(0,tn),p=Ys(e,u,a),[m,v]=ot(),[g,w]=E(null),{agents:f}=e,y=Lt(e.devices),{controllers:R}=t,A=gr({controllers:R,agents:f,devices:y,lines:$},v),M=e.lines.reduce((k,X)=>k+X.shards,0),L=$.map(k=>`${lt(f,k.agent)}: ${k.texts[0]}`).join("; "),q=k=>g!==null&&(g.key===k.key||g.agent===k.agent),C=k=>({onPointerEnter:()=>w(k),onPointerLeave:()=>w(null),onFocus:()=>w(k),onBlur:()=>w(null)}),J=k=>g===null?"":q(k)?"lit":"faded";return i`<figure class="topology" ref=${m}>
    <figcaption>
      <h2>${r}</h2>
      ${nn(e)&&i`<a class="fold" aria-expanded=${String(s)} role="button" href=${W("topology",{open:(s?n.filter(k=>k!==r):[...n,r]).join(",")})}>${s?"Fold":`Show all ${M.toLocaleString("en")} tenants`}</a>`}
      <p class="read">${g?g.told:""}</p>
      ${!!e.halted&&i`<p class="failure">Halted: ${e.halted}. No shard moves.</p>`}
      <p class="moves" role="status">${p.join("; ")}</p>
    </figcaption>
    <${O} error=${d} />
    <svg viewBox="0 0 ${v} ${A.height}" width=${v} height=${A.height} role="group" aria-label="Who may write to the devices of ${r}: ${L||"no shards"}">
      <rect class="frame" rx="8" ...${A.frame} />
      ${A.links.map(k=>i`<path class=${k.cut?"link cut":"link"} d=${k.d} />`)}
      ${A.lines.map(({line:k,d:X})=>i`<path key=${k.key} class="owner ${k.common?"common":""} ${k.served?"":"cut"} ${J(k)}" d=${X} />`)}
      ${A.lines.map(({line:k,x:X,y:Q,text:we})=>{let he=lt(f,k.agent),b=`${k.told}, ${he} ${k.served?"may write":"is away"}`;return i`<${Zs} key=${k.key} line=${k} x=${X} y=${Q} text=${he===on?`${we} · ${on}`:we} host=${he} look=${J(k)} pointing=${C({key:k.key,told:b})} />`})}
      ${A.boxes.map(k=>i`<${ti} key=${Qs(k)} box=${k} topology=${t} pointing=${k.kind==="agent"?C({agent:k.object.id,told:`${k.object.host}: ${k.object.acting_shards} shards`}):{}} />`)}
    </svg>
    ${u.length>tn&&i`<p>${u.length-tn} more: <code>evenkeel shard list --environment ${e.environment}</code></p>`}
  </figure>`}function Zs({line:e,x:t,y:n,text:o,host:a,look:r,pointing:s}){let c=i`<text class="shard ${e.common?"common":"tenant"} ${r}" data-agent=${a} style=${{transform:`translate(${t}px, ${n}px)`}}><title>${e.told}</title>${o}</text>`;return e.link?i`<a href=${e.link} ...${s}>${c}</a>`:i`<g ...${s}>${c}</g>`}var Qs=({kind:e,object:t})=>t?`${e} ${t.id||t.url||t.name}`:e,ei={controller:()=>"#/controllers",agent:e=>`#/agents/${e.id}`,device:()=>"#/devices"};function ti({box:e,topology:t,pointing:n}){let[o,a]=ni(e,t),r=ei[e.kind],s=i`<g class="box ${o}" transform="translate(${e.x} ${e.y})">
    <title>${a}</title>
    <rect width=${e.width} height=${e.height} rx="6" />
    ${e.upright?i`<text text-anchor="middle" transform="translate(${e.width/2+4} ${e.height/2}) rotate(-90)">${a}</text>`:i`<text x="10" y=${e.height/2+4}>${hr(a,e.width-18)}</text>`}
  </g>`;return r?i`<a href=${r(e.object)} ...${n}>${s}</a>`:s}function ni({kind:e,object:t},n){return e==="bus"?[n.message_broker==="connected"?"up":"silent","message bus"]:e==="controller"?[t.alive?"up":"silent",oi(t.url)]:e==="agent"?[t.state,`${t.host} · ${t.state}`]:[t.reachable?"up":"silent",`${t.own_name||t.name} · ${t.reachable?t.failover_state||"reached":"out of reach"}`]}function oi(e){let{hostname:t,port:n}=new URL(e);return["127.0.0.1","localhost","[::1]"].includes(t)?`controller :${n}`:`${t}:${n}`}function lt(e,t){let n=e.find(o=>o.id===t);return n?n.host:on}var dt={"":["Overview",pr],topology:["Topology",br],loadbalancers:["Load balancers",$o],agents:["Agents",Eo],devices:["Devices",Co],controllers:["Controllers",Mo],environments:["Environments",jo],certificates:["Certificates",No],networks:["Networks",ar],maintenance:["Maintenance",nr],events:["Events",Fo]},ri=Object.fromEntries(Object.entries(dt).map(([e,[t]])=>[e,t])),ai=[`${h}/events?limit=1&newest=true`,`${h}/activity`,`${re}/loadbalancers?limit=1&fields=id`],si=2e3;async function ii(){let e=null;try{e=(await _(`${h}/caller`)).caller}catch(n){if(n.status!==404)return[e,n]}let t=null;for(let n of ai)try{return await _(n),[e,null]}catch(o){if(t=o,o.status!==403)break}return[e,t]}function ci(){let[e,t]=E({state:"asking"});async function n(){let a=Un(),[r,s]=await ii();return s?[401,403].includes(s.status)?o(ir(s,a,r)):t({state:"away",reason:s.message}):t({state:"in",caller:r})}function o(a){In(),t({state:"out",reason:a})}return D(()=>{n()},[]),D(()=>{if(e.state!=="away")return;let a=setTimeout(n,si);return()=>clearTimeout(a)},[e]),e.state==="asking"?i`<main><p>Loading…</p></main>`:e.state==="out"?i`<${sr} wrong=${e.reason} done=${n} />`:e.state==="away"?i`<main><p class="failure" role="alert">${e.reason}</p></main>`:i`<${li} caller=${e.caller} leave=${o} />`}function li({caller:e,leave:t}){let n=to(),{parts:[o,a,r,s,c],query:d}=oo(),l=Z(null),[u,$]=dt[o]||dt[""];D(()=>{document.title=`${u} · Even Keel`,l.current&&document.activeElement!==document.body&&l.current.focus()},[o,a,s]),D(()=>{n.error&&n.error.status===401&&t("The login is not accepted any more: log in again.")},[n.error]);function p(){return o==="agents"&&a?i`<${Po} key=${a} id=${a} live=${n} />`:o!=="loadbalancers"||!a?i`<${$} key=${o} live=${n} query=${d} />`:r?i`<${Ko} key=${s} root=${a} kind=${r} id=${s} parent=${c} live=${n} />`:i`<${er} key=${a} id=${a} live=${n} />`}return i`<a class="skip" href="#main" onClick=${m=>(m.preventDefault(),l.current.focus())}>Skip to content</a>
    <${Qn} views=${ri} current=${dt[o]?o:""} caller=${e} leave=${t} />
    <${zn} />
    ${n.error&&n.error.status!==401&&n.error.status!==403&&i`<p class="failure banner" role="alert">${n.error.message}: trying again</p>`}
    <main id="main" tabindex="-1" ref=${l}>
      <${yo} place=${[o,a,r,s].join("/")}>${p()}<//>
    </main>
    <${vo} />`}vt(i`<${ci} />`,document.getElementById("app"));
