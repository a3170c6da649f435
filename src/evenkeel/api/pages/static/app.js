var Fe,I,rn,wr,de,tn,an,sn,cn,$t,lt,dt,ln,ke={},dn=[],kr=/acit|ex(?:s|g|n|p|$)|rph|grid|ows|mnc|ntw|ine[ch]|zoo|^ord|itera/i,Be=Array.isArray;function se(e,t){for(var n in t)e[n]=t[n];return e}function mt(e){e&&e.parentNode&&e.parentNode.removeChild(e)}function He(e,t,n){var o,a,r,s={};for(r in t)r=="key"?o=t[r]:r=="ref"?a=t[r]:s[r]=t[r];if(arguments.length>2&&(s.children=arguments.length>3?Fe.call(arguments,2):n),typeof e=="function"&&e.defaultProps!=null)for(r in e.defaultProps)s[r]===void 0&&(s[r]=e.defaultProps[r]);return Le(e,s,o,a,null)}function Le(e,t,n,o,a){var r={type:e,props:t,key:n,ref:o,__k:null,__:null,__b:0,__e:null,__c:null,constructor:void 0,__v:a??++rn,__i:-1,__u:0};return a==null&&I.vnode!=null&&I.vnode(r),r}function We(e){return e.children}function we(e,t){this.props=e,this.context=t}function he(e,t){if(t==null)return e.__?he(e.__,e.__i+1):null;for(var n;t<e.__k.length;t++)if((n=e.__k[t])!=null&&n.__e!=null)return n.__e;return typeof e.type=="function"?he(e):null}function un(e){var t,n;if((e=e.__)!=null&&e.__c!=null){for(e.__e=e.__c.base=null,t=0;t<e.__k.length;t++)if((n=e.__k[t])!=null&&n.__e!=null){e.__e=e.__c.base=n.__e;break}return un(e)}}function ut(e){(!e.__d&&(e.__d=!0)&&de.push(e)&&!Ue.__r++||tn!=I.debounceRendering)&&((tn=I.debounceRendering)||an)(Ue)}function Ue(){for(var e,t,n,o,a,r,s,c=1;de.length;)de.length>c&&de.sort(sn),e=de.shift(),c=de.length,e.__d&&(n=void 0,o=void 0,a=(o=(t=e).__v).__e,r=[],s=[],t.__P&&((n=se({},o)).__v=o.__v+1,I.vnode&&I.vnode(n),ft(t.__P,n,o,t.__n,t.__P.namespaceURI,32&o.__u?[a]:null,r,a??he(o),!!(32&o.__u),s),n.__v=o.__v,n.__.__k[n.__i]=n,mn(r,n,s),o.__e=o.__=null,n.__e!=a&&un(n)));Ue.__r=0}function pn(e,t,n,o,a,r,s,c,d,l,p){var u,$,m,g,v,w,h,y=o&&o.__k||dn,R=t.length;for(d=Ar(n,t,y,d,R),u=0;u<R;u++)(m=n.__k[u])!=null&&($=m.__i==-1?ke:y[m.__i]||ke,m.__i=u,w=ft(e,m,$,a,r,s,c,d,l,p),g=m.__e,m.ref&&$.ref!=m.ref&&($.ref&&ht($.ref,null,m),p.push(m.ref,m.__c||g,m)),v==null&&g!=null&&(v=g),(h=!!(4&m.__u))||$.__k===m.__k?d=$n(m,d,e,h):typeof m.type=="function"&&w!==void 0?d=w:g&&(d=g.nextSibling),m.__u&=-7);return n.__e=v,d}function Ar(e,t,n,o,a){var r,s,c,d,l,p=n.length,u=p,$=0;for(e.__k=new Array(a),r=0;r<a;r++)(s=t[r])!=null&&typeof s!="boolean"&&typeof s!="function"?(d=r+$,(s=e.__k[r]=typeof s=="string"||typeof s=="number"||typeof s=="bigint"||s.constructor==String?Le(null,s,null,null,null):Be(s)?Le(We,{children:s},null,null,null):s.constructor==null&&s.__b>0?Le(s.type,s.props,s.key,s.ref?s.ref:null,s.__v):s).__=e,s.__b=e.__b+1,c=null,(l=s.__i=Sr(s,n,d,u))!=-1&&(u--,(c=n[l])&&(c.__u|=2)),c==null||c.__v==null?(l==-1&&(a>p?$--:a<p&&$++),typeof s.type!="function"&&(s.__u|=4)):l!=d&&(l==d-1?$--:l==d+1?$++:(l>d?$--:$++,s.__u|=4))):e.__k[r]=null;if(u)for(r=0;r<p;r++)(c=n[r])!=null&&(2&c.__u)==0&&(c.__e==o&&(o=he(c)),hn(c,c));return o}function $n(e,t,n,o){var a,r;if(typeof e.type=="function"){for(a=e.__k,r=0;a&&r<a.length;r++)a[r]&&(a[r].__=e,t=$n(a[r],t,n,o));return t}e.__e!=t&&(o&&(t&&e.type&&!t.parentNode&&(t=he(e)),n.insertBefore(e.__e,t||null)),t=e.__e);do t=t&&t.nextSibling;while(t!=null&&t.nodeType==8);return t}function Sr(e,t,n,o){var a,r,s,c=e.key,d=e.type,l=t[n],p=l!=null&&(2&l.__u)==0;if(l===null&&e.key==null||p&&c==l.key&&d==l.type)return n;if(o>(p?1:0)){for(a=n-1,r=n+1;a>=0||r<t.length;)if((l=t[s=a>=0?a--:r++])!=null&&(2&l.__u)==0&&c==l.key&&d==l.type)return s}return-1}function nn(e,t,n){t[0]=="-"?e.setProperty(t,n??""):e[t]=n==null?"":typeof n!="number"||kr.test(t)?n:n+"px"}function Ie(e,t,n,o,a){var r,s;e:if(t=="style")if(typeof n=="string")e.style.cssText=n;else{if(typeof o=="string"&&(e.style.cssText=o=""),o)for(t in o)n&&t in n||nn(e.style,t,"");if(n)for(t in n)o&&n[t]==o[t]||nn(e.style,t,n[t])}else if(t[0]=="o"&&t[1]=="n")r=t!=(t=t.replace(cn,"$1")),s=t.toLowerCase(),t=s in e||t=="onFocusOut"||t=="onFocusIn"?s.slice(2):t.slice(2),e.l||(e.l={}),e.l[t+r]=n,n?o?n.u=o.u:(n.u=$t,e.addEventListener(t,r?dt:lt,r)):e.removeEventListener(t,r?dt:lt,r);else{if(a=="http://www.w3.org/2000/svg")t=t.replace(/xlink(H|:h)/,"h").replace(/sName$/,"s");else if(t!="width"&&t!="height"&&t!="href"&&t!="list"&&t!="form"&&t!="tabIndex"&&t!="download"&&t!="rowSpan"&&t!="colSpan"&&t!="role"&&t!="popover"&&t in e)try{e[t]=n??"";break e}catch{}typeof n=="function"||(n==null||n===!1&&t[4]!="-"?e.removeAttribute(t):e.setAttribute(t,t=="popover"&&n==1?"":n))}}function on(e){return function(t){if(this.l){var n=this.l[t.type+e];if(t.t==null)t.t=$t++;else if(t.t<n.u)return;return n(I.event?I.event(t):t)}}}function ft(e,t,n,o,a,r,s,c,d,l){var p,u,$,m,g,v,w,h,y,R,k,M,L,C,W,Z,A,q=t.type;if(t.constructor!=null)return null;128&n.__u&&(d=!!(32&n.__u),r=[c=t.__e=n.__e]),(p=I.__b)&&p(t);e:if(typeof q=="function")try{if(h=t.props,y="prototype"in q&&q.prototype.render,R=(p=q.contextType)&&o[p.__c],k=p?R?R.props.value:p.__:o,n.__c?w=(u=t.__c=n.__c).__=u.__E:(y?t.__c=u=new q(h,k):(t.__c=u=new we(h,k),u.constructor=q,u.render=Or),R&&R.sub(u),u.props=h,u.state||(u.state={}),u.context=k,u.__n=o,$=u.__d=!0,u.__h=[],u._sb=[]),y&&u.__s==null&&(u.__s=u.state),y&&q.getDerivedStateFromProps!=null&&(u.__s==u.state&&(u.__s=se({},u.__s)),se(u.__s,q.getDerivedStateFromProps(h,u.__s))),m=u.props,g=u.state,u.__v=t,$)y&&q.getDerivedStateFromProps==null&&u.componentWillMount!=null&&u.componentWillMount(),y&&u.componentDidMount!=null&&u.__h.push(u.componentDidMount);else{if(y&&q.getDerivedStateFromProps==null&&h!==m&&u.componentWillReceiveProps!=null&&u.componentWillReceiveProps(h,k),!u.__e&&u.shouldComponentUpdate!=null&&u.shouldComponentUpdate(h,u.__s,k)===!1||t.__v==n.__v){for(t.__v!=n.__v&&(u.props=h,u.state=u.__s,u.__d=!1),t.__e=n.__e,t.__k=n.__k,t.__k.some(function(Q){Q&&(Q.__=t)}),M=0;M<u._sb.length;M++)u.__h.push(u._sb[M]);u._sb=[],u.__h.length&&s.push(u);break e}u.componentWillUpdate!=null&&u.componentWillUpdate(h,u.__s,k),y&&u.componentDidUpdate!=null&&u.__h.push(function(){u.componentDidUpdate(m,g,v)})}if(u.context=k,u.props=h,u.__P=e,u.__e=!1,L=I.__r,C=0,y){for(u.state=u.__s,u.__d=!1,L&&L(t),p=u.render(u.props,u.state,u.context),W=0;W<u._sb.length;W++)u.__h.push(u._sb[W]);u._sb=[]}else do u.__d=!1,L&&L(t),p=u.render(u.props,u.state,u.context),u.state=u.__s;while(u.__d&&++C<25);u.state=u.__s,u.getChildContext!=null&&(o=se(se({},o),u.getChildContext())),y&&!$&&u.getSnapshotBeforeUpdate!=null&&(v=u.getSnapshotBeforeUpdate(m,g)),Z=p,p!=null&&p.type===We&&p.key==null&&(Z=fn(p.props.children)),c=pn(e,Be(Z)?Z:[Z],t,n,o,a,r,s,c,d,l),u.base=t.__e,t.__u&=-161,u.__h.length&&s.push(u),w&&(u.__E=u.__=null)}catch(Q){if(t.__v=null,d||r!=null)if(Q.then){for(t.__u|=d?160:128;c&&c.nodeType==8&&c.nextSibling;)c=c.nextSibling;r[r.indexOf(c)]=null,t.__e=c}else{for(A=r.length;A--;)mt(r[A]);pt(t)}else t.__e=n.__e,t.__k=n.__k,Q.then||pt(t);I.__e(Q,t,n)}else r==null&&t.__v==n.__v?(t.__k=n.__k,t.__e=n.__e):c=t.__e=xr(n.__e,t,n,o,a,r,s,d,l);return(p=I.diffed)&&p(t),128&t.__u?void 0:c}function pt(e){e&&e.__c&&(e.__c.__e=!0),e&&e.__k&&e.__k.forEach(pt)}function mn(e,t,n){for(var o=0;o<n.length;o++)ht(n[o],n[++o],n[++o]);I.__c&&I.__c(t,e),e.some(function(a){try{e=a.__h,a.__h=[],e.some(function(r){r.call(a)})}catch(r){I.__e(r,a.__v)}})}function fn(e){return typeof e!="object"||e==null||e.__b&&e.__b>0?e:Be(e)?e.map(fn):se({},e)}function xr(e,t,n,o,a,r,s,c,d){var l,p,u,$,m,g,v,w=n.props,h=t.props,y=t.type;if(y=="svg"?a="http://www.w3.org/2000/svg":y=="math"?a="http://www.w3.org/1998/Math/MathML":a||(a="http://www.w3.org/1999/xhtml"),r!=null){for(l=0;l<r.length;l++)if((m=r[l])&&"setAttribute"in m==!!y&&(y?m.localName==y:m.nodeType==3)){e=m,r[l]=null;break}}if(e==null){if(y==null)return document.createTextNode(h);e=document.createElementNS(a,y,h.is&&h),c&&(I.__m&&I.__m(t,r),c=!1),r=null}if(y==null)w===h||c&&e.data==h||(e.data=h);else{if(r=r&&Fe.call(e.childNodes),w=n.props||ke,!c&&r!=null)for(w={},l=0;l<e.attributes.length;l++)w[(m=e.attributes[l]).name]=m.value;for(l in w)if(m=w[l],l!="children"){if(l=="dangerouslySetInnerHTML")u=m;else if(!(l in h)){if(l=="value"&&"defaultValue"in h||l=="checked"&&"defaultChecked"in h)continue;Ie(e,l,null,m,a)}}for(l in h)m=h[l],l=="children"?$=m:l=="dangerouslySetInnerHTML"?p=m:l=="value"?g=m:l=="checked"?v=m:c&&typeof m!="function"||w[l]===m||Ie(e,l,m,w[l],a);if(p)c||u&&(p.__html==u.__html||p.__html==e.innerHTML)||(e.innerHTML=p.__html),t.__k=[];else if(u&&(e.innerHTML=""),pn(t.type=="template"?e.content:e,Be($)?$:[$],t,n,o,y=="foreignObject"?"http://www.w3.org/1999/xhtml":a,r,s,r?r[0]:n.__k&&he(n,0),c,d),r!=null)for(l=r.length;l--;)mt(r[l]);c||(l="value",y=="progress"&&g==null?e.removeAttribute("value"):g!=null&&(g!==e[l]||y=="progress"&&!g||y=="option"&&g!=w[l])&&Ie(e,l,g,w[l],a),l="checked",v!=null&&v!=e[l]&&Ie(e,l,v,w[l],a))}return e}function ht(e,t,n){try{if(typeof e=="function"){var o=typeof e.__u=="function";o&&e.__u(),o&&t==null||(e.__u=e(t))}else e.current=t}catch(a){I.__e(a,n)}}function hn(e,t,n){var o,a;if(I.unmount&&I.unmount(e),(o=e.ref)&&(o.current&&o.current!=e.__e||ht(o,null,t)),(o=e.__c)!=null){if(o.componentWillUnmount)try{o.componentWillUnmount()}catch(r){I.__e(r,t)}o.base=o.__P=null}if(o=e.__k)for(a=0;a<o.length;a++)o[a]&&hn(o[a],t,n||typeof e.type!="function");n||mt(e.__e),e.__c=e.__=e.__e=void 0}function Or(e,t,n){return this.constructor(e,n)}function _t(e,t,n){var o,a,r,s;t==document&&(t=document.documentElement),I.__&&I.__(e,t),a=(o=typeof n=="function")?null:n&&n.__k||t.__k,r=[],s=[],ft(t,e=(!o&&n||t).__k=He(We,null,[e]),a||ke,ke,t.namespaceURI,!o&&n?[n]:a?null:t.firstChild?Fe.call(t.childNodes):null,r,!o&&n?n:a?a.__e:t.firstChild,o,s),mn(r,e,s)}function _n(e){function t(n){var o,a;return this.getChildContext||(o=new Set,(a={})[t.__c]=this,this.getChildContext=function(){return a},this.componentWillUnmount=function(){o=null},this.shouldComponentUpdate=function(r){this.props.value!=r.value&&o.forEach(function(s){s.__e=!0,ut(s)})},this.sub=function(r){o.add(r);var s=r.componentWillUnmount;r.componentWillUnmount=function(){o&&o.delete(r),s&&s.call(r)}}),n.children}return t.__c="__cC"+ln++,t.__=e,t.Provider=t.__l=(t.Consumer=function(n,o){return n.children(o)}).contextType=t,t}Fe=dn.slice,I={__e:function(e,t,n,o){for(var a,r,s;t=t.__;)if((a=t.__c)&&!a.__)try{if((r=a.constructor)&&r.getDerivedStateFromError!=null&&(a.setState(r.getDerivedStateFromError(e)),s=a.__d),a.componentDidCatch!=null&&(a.componentDidCatch(e,o||{}),s=a.__d),s)return a.__E=a}catch(c){e=c}throw e}},rn=0,wr=function(e){return e!=null&&e.constructor==null},we.prototype.setState=function(e,t){var n;n=this.__s!=null&&this.__s!=this.state?this.__s:this.__s=se({},this.state),typeof e=="function"&&(e=e(se({},n),this.props)),e&&se(n,e),e!=null&&this.__v&&(t&&this._sb.push(t),ut(this))},we.prototype.forceUpdate=function(e){this.__v&&(this.__e=!0,e&&this.__h.push(e),ut(this))},we.prototype.render=We,de=[],an=typeof Promise=="function"?Promise.prototype.then.bind(Promise.resolve()):setTimeout,sn=function(e,t){return e.__v.__b-t.__v.__b},Ue.__r=0,cn=/(PointerCapture)$|Capture$/i,$t=0,lt=on(!1),dt=on(!0),ln=0;var vn=function(e,t,n,o){var a;t[0]=0;for(var r=1;r<t.length;r++){var s=t[r++],c=t[r]?(t[0]|=s?1:2,n[t[r++]]):t[++r];s===3?o[0]=c:s===4?o[1]=Object.assign(o[1]||{},c):s===5?(o[1]=o[1]||{})[t[++r]]=c:s===6?o[1][t[++r]]+=c+"":s?(a=e.apply(c,vn(e,c,n,["",null])),o.push(a),c[0]?t[0]|=2:(t[r-2]=0,t[r]=a)):o.push(c)}return o},gn=new Map;function bn(e){var t=gn.get(this);return t||(t=new Map,gn.set(this,t)),(t=vn(this,t.get(e)||(t.set(e,t=(function(n){for(var o,a,r=1,s="",c="",d=[0],l=function($){r===1&&($||(s=s.replace(/^\s*\n\s*|\s*\n\s*$/g,"")))?d.push(0,$,s):r===3&&($||s)?(d.push(3,$,s),r=2):r===2&&s==="..."&&$?d.push(4,$,0):r===2&&s&&!$?d.push(5,0,!0,s):r>=5&&((s||!$&&r===5)&&(d.push(r,0,s,a),r=6),$&&(d.push(r,$,0,a),r=6)),s=""},p=0;p<n.length;p++){p&&(r===1&&l(),l(p));for(var u=0;u<n[p].length;u++)o=n[p][u],r===1?o==="<"?(l(),d=[d],r=3):s+=o:r===4?s==="--"&&o===">"?(r=1,s=""):s=o+s[0]:c?o===c?c="":s+=o:o==='"'||o==="'"?c=o:o===">"?(l(),r=1):r&&(o==="="?(r=5,a=s,s=""):o==="/"&&(r<5||n[p][u+1]===">")?(l(),r===3&&(d=d[0]),r=d,(d=d[0]).push(2,0,r),r=0):o===" "||o==="	"||o===`
`||o==="\r"?(l(),r=2):s+=o),r===3&&s==="!--"&&(r=4,d=d[0])}return l(),d})(e)),t),arguments,[])).length>1?t:t[0]}var i=bn.bind(He);var ue,U,gt,yn,Ae=0,Tn=[],K=I,wn=K.__b,kn=K.__r,An=K.diffed,Sn=K.__c,xn=K.unmount,On=K.__;function Se(e,t){K.__h&&K.__h(U,e,Ae||t),Ae=0;var n=U.__H||(U.__H={__:[],__h:[]});return e>=n.__.length&&n.__.push({}),n.__[e]}function E(e){return Ae=1,Er(Cn,e)}function Er(e,t,n){var o=Se(ue++,2);if(o.t=e,!o.__c&&(o.__=[n?n(t):Cn(void 0,t),function(c){var d=o.__N?o.__N[0]:o.__[0],l=o.t(d,c);d!==l&&(o.__N=[l,o.__[1]],o.__c.setState({}))}],o.__c=U,!U.__f)){var a=function(c,d,l){if(!o.__c.__H)return!0;var p=o.__c.__H.__.filter(function($){return!!$.__c});if(p.every(function($){return!$.__N}))return!r||r.call(this,c,d,l);var u=o.__c.props!==c;return p.forEach(function($){if($.__N){var m=$.__[0];$.__=$.__N,$.__N=void 0,m!==$.__[0]&&(u=!0)}}),r&&r.call(this,c,d,l)||u};U.__f=!0;var r=U.shouldComponentUpdate,s=U.componentWillUpdate;U.componentWillUpdate=function(c,d,l){if(this.__e){var p=r;r=void 0,a(c,d,l),r=p}s&&s.call(this,c,d,l)},U.shouldComponentUpdate=a}return o.__N||o.__}function N(e,t){var n=Se(ue++,3);!K.__s&&Nn(n.__H,t)&&(n.__=e,n.u=t,U.__H.__h.push(n))}function J(e){return Ae=5,Pn(function(){return{current:e}},[])}function Pn(e,t){var n=Se(ue++,7);return Nn(n.__H,t)&&(n.__=e(),n.__H=t,n.__h=e),n.__}function Rn(e,t){return Ae=8,Pn(function(){return e},t)}function Ge(e){var t=U.context[e.__c],n=Se(ue++,9);return n.c=e,t?(n.__==null&&(n.__=!0,t.sub(U)),t.props.value):e.__}function Dn(){var e=Se(ue++,11);if(!e.__){for(var t=U.__v;t!==null&&!t.__m&&t.__!==null;)t=t.__;var n=t.__m||(t.__m=[0,0]);e.__="P"+n[0]+"-"+n[1]++}return e.__}function Tr(){for(var e;e=Tn.shift();)if(e.__P&&e.__H)try{e.__H.__h.forEach(Ve),e.__H.__h.forEach(vt),e.__H.__h=[]}catch(t){e.__H.__h=[],K.__e(t,e.__v)}}K.__b=function(e){U=null,wn&&wn(e)},K.__=function(e,t){e&&t.__k&&t.__k.__m&&(e.__m=t.__k.__m),On&&On(e,t)},K.__r=function(e){kn&&kn(e),ue=0;var t=(U=e.__c).__H;t&&(gt===U?(t.__h=[],U.__h=[],t.__.forEach(function(n){n.__N&&(n.__=n.__N),n.u=n.__N=void 0})):(t.__h.forEach(Ve),t.__h.forEach(vt),t.__h=[],ue=0)),gt=U},K.diffed=function(e){An&&An(e);var t=e.__c;t&&t.__H&&(t.__H.__h.length&&(Tn.push(t)!==1&&yn===K.requestAnimationFrame||((yn=K.requestAnimationFrame)||Pr)(Tr)),t.__H.__.forEach(function(n){n.u&&(n.__H=n.u),n.u=void 0})),gt=U=null},K.__c=function(e,t){t.some(function(n){try{n.__h.forEach(Ve),n.__h=n.__h.filter(function(o){return!o.__||vt(o)})}catch(o){t.some(function(a){a.__h&&(a.__h=[])}),t=[],K.__e(o,n.__v)}}),Sn&&Sn(e,t)},K.unmount=function(e){xn&&xn(e);var t,n=e.__c;n&&n.__H&&(n.__H.__.forEach(function(o){try{Ve(o)}catch(a){t=a}}),n.__H=void 0,t&&K.__e(t,n.__v))};var En=typeof requestAnimationFrame=="function";function Pr(e){var t,n=function(){clearTimeout(o),En&&cancelAnimationFrame(t),setTimeout(e)},o=setTimeout(n,35);En&&(t=requestAnimationFrame(n))}function Ve(e){var t=U,n=e.__c;typeof n=="function"&&(e.__c=void 0,n()),U=t}function vt(e){var t=U;e.__c=e.__(),U=t}function Nn(e,t){return!e||e.length!==t.length||t.some(function(n,o){return n!==e[o]})}function Cn(e,t){return typeof t=="function"?t(e):t}var f="../evenkeel/v1",bt="evenkeel-authorization",_e=class extends Error{constructor(t,n,o=[]){super(n),this.status=t,this.roles=o}},Mn=0,ie=()=>Date.now()+Mn,ge=JSON.parse(sessionStorage.getItem(bt)||"{}");function jn(e){ge=e,sessionStorage.setItem(bt,JSON.stringify(e))}function In(){ge={},sessionStorage.removeItem(bt);for(let e of Ln)e()}var Ln=[],Un=e=>Ln.push(e);function yt(){return Object.keys(ge).length>0}var Fn=()=>ge.Authorization?"password":yt()?"token":"";async function Bn(){try{return((await fetch(`${f}/status`,{headers:{Accept:"application/json"},credentials:"omit",cache:"no-store",signal:AbortSignal.timeout(15e3)})).headers.get("WWW-Authenticate")||"").split(/[ ,]/,1)[0].toLowerCase()}catch{return""}}function Hn(e,t){let n=new TextEncoder().encode(`${e}:${t}`);return{Authorization:`Basic ${btoa(String.fromCharCode(...n))}`}}function Wn(e){return{"X-Auth-Token":e}}async function Ke(e,t,n,o=15e3){let a={Accept:"application/json",...ge};n!==void 0&&(a["Content-Type"]="application/json");let r;try{r=await fetch(t,{method:e,headers:a,body:n===void 0?void 0:JSON.stringify(n),credentials:"omit",cache:"no-store",signal:AbortSignal.timeout(o)})}catch(d){throw new _e(0,`no answer from this controller: ${d.message}`)}Rr(r);let s=await r.text(),c=s?Kn(s):null;if(!r.ok)throw Gn(r,c);return c}function Rr(e){let t=Date.parse(e.headers.get("Date")||"");t&&Math.abs(t+500-ie())>1e3&&(Mn=t+500-Date.now())}async function Vn(e,t,{told:n,at:o,signal:a,silentMs:r}){let s=new AbortController,c=()=>s.abort();a.addEventListener("abort",c);let d=setTimeout(c,r);try{let l=await fetch(e,{headers:{Accept:"text/event-stream","Last-Event-ID":String(t),...ge},credentials:"omit",cache:"no-store",signal:s.signal});if(!l.ok)throw Gn(l,Kn(await l.text()));let p=l.body.pipeThrough(new TextDecoderStream).getReader(),u="";for(;;){let{done:$,value:m}=await p.read();if($)return;clearTimeout(d),d=setTimeout(c,r);let g=(u+m).split(`

`);u=g.pop();let v=[];for(let w of g)for(let h of w.split(`
`))h.startsWith("id: ")&&o(Number(h.slice(4))),h.startsWith("data: ")&&v.push(JSON.parse(h.slice(6)));n(v)}}catch(l){throw l instanceof _e?l:new _e(0,`no answer from this controller: ${l.message}`)}finally{clearTimeout(d),a.removeEventListener("abort",c),s.abort()}}function Gn(e,t){let n=(e.headers.get("X-Needs-Role")||"").split(", ").filter(Boolean);return new _e(e.status,Dr(t)||`HTTP ${e.status}`,n)}var H=e=>e.catch(t=>{if(t.status!==403)throw t;return{refused:t}}),te=(e,t,n)=>Ke("POST",e,t,n),_=e=>Ke("GET",e);function Kn(e){try{return JSON.parse(e)}catch{return null}}function Dr(e){return e&&(e.faultstring||e.reason||e.error&&e.error.message||e.description||e.message||e.detail||e.title)}var qn=new URLSearchParams(location.search).get("demo"),Nr="../demo/controls",Cr=2e3;async function Xn(e){let t=await fetch(Nr,{method:e?"POST":"GET",headers:{"X-Demo-Token":qn,"Content-Type":"application/json"},body:e&&JSON.stringify(e),cache:"no-store"}),n=await t.json();if(!t.ok)throw new Error(n.reason||`HTTP ${t.status}`);return n}function zn(){let[e,t]=E(null),[n,o]=E(""),[a,r]=E("");if(N(()=>{if(!qn)return;let d=()=>Xn().then(t,()=>t(null));d();let l=setInterval(()=>document.hidden||d(),Cr);return()=>clearInterval(l)},[]),!e)return null;let s=n||e.agents[0].host,c=(d,l)=>i`<button
      type="button"
      disabled=${!e.offered}
      onClick=${()=>Xn({action:l,host:s}).then(p=>(t(p),r("")),p=>r(p.message))}
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
  </section>`}var Yn='data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="%230e6fae"/><path d="M15 4.5v11H6.8zM17 7v8.500h6.600z" fill="%23fff"/><path d="M4.500 18h23c-.6 3.600-2.900 5.500-6 5.500h-3.500l-1 4h-2l-1-4H10.500c-3.100 0-5.400-1.900-6-5.500z" fill="%239fe0ff"/></svg>%0A';var Jn="evenkeel-theme",wt=["system","light","dark"];function kt(){let e=localStorage.getItem(Jn);return wt.includes(e)?e:"system"}function Zn(e){localStorage.setItem(Jn,e),document.documentElement.dataset.theme=e}document.documentElement.dataset.theme=kt();var At=()=>i`<img class="logo" src=${Yn} alt="" width="28" height="28" />`;function St(){let[e,t]=E(kt);function n(o){Zn(o.target.value),t(o.target.value)}return i`<label class="theme"
    ><span>Theme</span>
    <select value=${e} onChange=${n}>
      ${wt.map(o=>i`<option>${o}</option>`)}
    </select></label
  >`}function Qn({views:e,current:t,caller:n,leave:o}){return i`<header>
    <a class="brand" href="#/"><${At} /> Even Keel</a> ${n&&i`<span class="version">${n.version}</span>`}
    <${jr} views=${e} current=${t} />
    <div class="account">
      ${n&&i`<${Ir} caller=${n} />`}
      <${Lr} url=${n&&n.documentation_url} />
      <${St} />
      ${yt()&&i`<button type="button" onClick=${()=>o("")}>Log out</button>`}
    </div>
  </header>`}function jr({views:e,current:t}){let n=J(null);return N(()=>{n.current&&n.current.scrollIntoView({block:"nearest",inline:"center"})},[t]),i`<nav aria-label="Views">
    ${Object.entries(e).map(([o,a])=>i`<a href="#/${o}" ref=${o===t?n:null} aria-current=${o===t?"page":null}>${a}</a>`)}
  </nav>`}function Ir({caller:{user:e,roles:t,project_id:n}}){if(!e)return i`<span class="caller">No authentication</span>`;let o=t.join(", ")||"no role";return i`<span class="caller" title=${`Roles: ${o}. ${n?`Project: ${n}`:"No project"}.`}>
    <strong>${e}</strong> <span class="roles">${o}</span>
  </span>`}function Lr({url:e}){return e?i`<a href=${e} target="_blank" rel="noopener noreferrer">Documentation</a>`:i`<a href="../openapi.json" target="_blank" rel="noopener">API description</a>`}var Ur=1e4,Fr=2e3,Br=200,Hr=100,Wr=4e4,eo=[1e3,1e3,2e3,5e3];function to(){let[e,t]=E({events:[],error:null,newest:0,connected:!1});return N(()=>{let n=new AbortController,o=null,a=()=>document.hidden&&o&&o.abort();document.addEventListener("visibilitychange",a),n.signal.addEventListener("abort",()=>{document.removeEventListener("visibilitychange",a),o&&o.abort()});let r=null,s=0,c=l=>{s=0,t(p=>Gr(p,l))};async function d(){for(;!n.signal.aborted;){if(await Vr(),n.signal.aborted)return;o=new AbortController;try{if(r===null){let l=(await _(`${f}/events?limit=${Hr}&newest=true`)).events;r=l.length?l[0].id-1:0,c(l)}await Vn(`${f}/events`,r,{told:c,at:l=>r=l,signal:o.signal,silentMs:Wr})}catch(l){if(n.signal.aborted)return;if(o.signal.aborted)continue;if(t(p=>({...p,error:l,connected:!1})),l.status===401||l.status===403)return}await new Promise(l=>setTimeout(l,eo[Math.min(s++,eo.length-1)]))}}return d(),()=>n.abort()},[]),e}function Vr(){return document.hidden?new Promise(e=>document.addEventListener("visibilitychange",e,{once:!0})):Promise.resolve()}function Gr(e,t){let n=new Set(e.events.map(r=>r.id)),o=t.filter(r=>!n.has(r.id));return!o.length&&e.connected&&!e.error?e:{events:[...o,...e.events].sort((r,s)=>s.id-r.id).slice(0,Br),error:null,connected:!0,newest:e.newest+o.length}}function D(e,t,n=[]){let[o,a]=E({data:null,error:null,at:0}),r=J(0),s=J(0),c=Rn(async()=>{let d=++r.current;s.current=Date.now();try{let l=await e();d===r.current&&a({data:l,error:null,at:ie()})}catch(l){d===r.current&&a(p=>({...p,error:l}))}},n);return N(()=>(s.current=0,()=>{r.current+=1}),[c]),N(()=>{let d=setTimeout(c,Math.max(0,s.current+Fr-Date.now())),l=setInterval(()=>document.hidden||c(),Ur);return()=>{clearTimeout(d),clearInterval(l)}},[c,t]),{...o,again:c}}var xt="evenkeel-moved";function no(){let[e,t=""]=location.hash.replace(/^#\/?/,"").split("?");return{parts:e.split("/").map(Kr),query:Object.fromEntries(new URLSearchParams(t))}}function Kr(e){try{return decodeURIComponent(e)}catch{return e}}function oo(){let[e,t]=E(no);return N(()=>{let n=()=>t(no());for(let o of["hashchange",xt])addEventListener(o,n);return()=>{for(let o of["hashchange",xt])removeEventListener(o,n)}},[]),e}function V(e,t={}){let n=new URLSearchParams(Object.entries(t).filter(([,o])=>o));return`#/${e}${n.size?`?${n}`:""}`}function ro(e,{instead:t=!1}={}){history[t?"replaceState":"pushState"](null,"",e),dispatchEvent(new Event(xt))}var Xr=new Set(["ACTIVE","ONLINE","up","connected","reached","served","closed"]),qr=new Set(["DEGRADED","DRAINING"]),zr=new Set(["ERROR","OFFLINE","silent","forced_down","unserved","halted","out of reach","failed","expired"]),xe=e=>Xr.has(e)?"good":zr.has(e)?"bad":qr.has(e)?"unsure":"other";function P({value:e}){let t=xe(e),n={good:"●",bad:"▲",unsure:"◆",other:"◌"}[t];return i`<span class="status ${t}"><span aria-hidden="true">${n}</span> ${e}</span>`}var j=e=>e&&/^([0-9a-f]{8}-|[0-9a-f]{32}$)/.test(e)?e.slice(0,8):e;function ne(e){if(!e)return"";let t=Math.max(0,(ie()-Date.parse(e.endsWith("Z")?e:`${e}Z`))/1e3);return t<120?`${Math.round(t)} s`:t<7200?`${Math.round(t/60)} min`:t<172800?`${Math.round(t/3600)} h`:`${Math.round(t/86400)} d`}var ao=e=>`${Math.max(0,e/1e3).toFixed(1)} s`,pe=e=>e.replace("T"," ").slice(0,19);function ee(e){for(let[t,n]of[["G",1e9],["M",1e6],["k",1e3]])if(e>=n)return`${(e/n).toPrecision(3)} ${t}`;return e>0&&e<.001?"< 0.001":e>=10||Number.isInteger(e)?String(Math.round(e)):e.toPrecision(2)}function ce({facts:e}){return i`<dl class="facts">
    ${e.filter(([,t])=>t!=="").map(([t,n,o])=>i`<div class=${o?"long":null}><dt>${t}</dt><dd>${n}</dd></div>`)}
  </dl>`}function x({command:e,path:t,method:n="GET"}){return i`<p class="also">
    The same: <code>${e}</code>${t&&i` · <code>${n} ${t.replace(/^\.\./,"")}</code>`}
  </p>`}function O({error:e,loading:t}){return e&&e.status===403?i`<${Oe} error=${e} />`:e?i`<p class="failure" role="alert">${e.message}</p>`:t&&i`<p>Loading…</p>`}function Oe({error:e}){return i`<p class="empty">${e.roles.length?`Needs the role ${e.roles.join(" or ")}.`:e.message}</p>`}var Yr=e=>e===""||e===null||e===void 0||e===!1;function G({caption:e,columns:t,rows:n,empty:o,order:a}){if(!n)return null;if(!n.length)return i`<p class="empty">${o}</p>`;let r=t.filter(([,s,c])=>c||n.some(d=>!Yr(s(d))));return i`<div class="scroll" tabindex="0" role="region" aria-label=${e}>
    <table>
      <caption>
        ${e}
      </caption>
      <thead>
        <tr>
          ${r.map(([s,,c])=>i`<${Jr} title=${s} sortKey=${c} order=${a} />`)}
        </tr>
      </thead>
      <tbody>
        ${n.map(s=>i`<tr key=${s.id||s.name}>${r.map(([c,d])=>i`<td data-title=${c}>${d(s)}</td>`)}</tr>`)}
      </tbody>
    </table>
  </div>`}function Jr({title:e,sortKey:t,order:n}){if(!t||!n)return i`<th scope="col">${e}</th>`;let o=n.key===t?n.descending?"descending":"ascending":null,a={ascending:"▲",descending:"▼"}[o]||"";return i`<th scope="col" aria-sort=${o}>
    <a class="order" href=${n.link(t,o==="ascending")}>${e} <span aria-hidden="true">${a}</span></a>
  </th>`}function Ee({text:e,about:t}){let[n,o]=E(!1);async function a(){await Zr(e),o(!0),setTimeout(()=>o(!1),2e3)}return i`<button type="button" class="copy" onClick=${a} aria-label=${`Copy ${t}`}><span role="status">${n?"Copied":"Copy"}</span></button>`}async function Zr(e){if(navigator.clipboard)return navigator.clipboard.writeText(e);let t=document.createElement("textarea");t.value=e,document.body.append(t),t.select(),document.execCommand("copy"),t.remove()}var F=(e,t,n=`${t}s`)=>`${e.toLocaleString("en")} ${e===1?t:n}`;var Qr=4e4;async function Xe({id:e,environment:t,group_number:n}){let o=`${t}/${n}`,a={id:e,environment:t,group_number:n};try{let r=await te(`${f}/shards/${e}/orphans`,void 0,Qr);return{rows:[...r.orphans.map(c=>({...c,kind:"load balancer",id:c.load_balancer_id,place:o,shard:a})),...r.partitions.map(c=>({...c,kind:"partition",id:c.project_id,place:o,shard:a}))],problem:r.more?`device group ${o}: ${F(r.more,"more was","more were")} not looked at`:""}}catch(r){return{rows:[],problem:`device group ${o}: ${r.message}`}}}var oe="../v2/lbaas",lo=50,ea=250,ta=["ERROR","PENDING_CREATE","PENDING_UPDATE","PENDING_DELETE","ACTIVE","DELETED"],na=["ONLINE","OFFLINE","DEGRADED","ERROR","DRAINING","NO_MONITOR"],oa=/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,ra=/^[0-9.]{7,15}$|:/,uo=["q","provisioning_status","operating_status","environment","group_number","project_id","held","sort","marker","page_reverse"];function so(e){let t=uo.filter(n=>e[n]).map(n=>[n,e[n]]);return`${f}/loadbalancers?${new URLSearchParams([...t,["limit",lo]])}`}function io({q:e,environment:t,group_number:n,held:o,...a}){let r=new URLSearchParams({...a,limit:lo});return t&&r.set("provider",t),e&&r.set(oa.test(e)?"id":ra.test(e)?"vip_address":"name",e),`${oe}/loadbalancers?${r}`}async function aa(e){let t=await H(_(so(e)));if(!t.refused)return{...t,path:so(e)};let n=await _(io(e)),o=n.loadbalancers.map(a=>({...a,environment:a.provider,group_number:null}));return{...n,loadbalancers:o,path:io(e),own:!0}}function po({live:e,query:t}){let n=JSON.stringify(t),{data:o,error:a}=D(()=>aa(t),e.newest,[n]),r=(p,u)=>ro(V("loadbalancers",{...t,marker:"",page_reverse:"",...p}),u),[s="",c]=(t.sort||"").split(":"),d={key:s,descending:c==="desc",link:(p,u)=>V("loadbalancers",{...t,marker:"",page_reverse:"",sort:`${p}:${u?"desc":"asc"}`})},l=[["Name",p=>i`<a href="#/loadbalancers/${p.id}">${p.name||j(p.id)}</a>${p.held&&i` <span class="tag">held</span>`}`,"name"],["Id",p=>i`<code title=${p.id}>${j(p.id)}</code>`],["VIP",p=>p.vip_address,"vip_address"],["Provisioning",p=>i`<${P} value=${p.provisioning_status} />`,"provisioning_status"],["Operating",p=>i`<${P} value=${p.operating_status} />`,"operating_status"],["Place",p=>p.group_number===null?p.environment:`${p.environment}/${p.group_number}`],["Project",p=>i`<a title=${p.project_id} href=${V("loadbalancers",{project_id:p.project_id})}>${j(p.project_id)}</a>`],["Age",p=>ne(p.created_at),"created_at"],["Reason",p=>p.status_reason||p.operating_reason]];return i`<div class="heading"><h1>Load balancers</h1>${o&&i`<${sa} data=${o} />`}</div>
    <${ca} query=${t} ask=${r} live=${e} />
    <${O} error=${a} loading=${!o} />
    ${o&&i`<${G} caption="Load balancers" columns=${l} rows=${o.loadbalancers} empty="None is like that." order=${d} />
      <${ia} links=${o.loadbalancers_links||[]} query=${t} />
      <${x} command="evenkeel loadbalancer list" path=${o.path} />`}`}function sa({data:e}){if(e.own)return null;let t=e.total.toLocaleString("en");return i`<p class="total" role="status">${e.total_is_exact?t:`more than ${t}`} ${e.total===1?"load balancer":"load balancers"}</p>`}function ia({links:e,query:t}){if(!e.length)return null;let n=(a,r)=>{let s=e.find(p=>p.rel===a);if(!s)return i`<span class="away">${r}</span>`;let c=new URL(s.href,location.href).searchParams,[d,l]=[c.get("marker"),c.get("page_reverse")||""];return i`<a rel=${a==="next"?"next":"prev"} href=${V("loadbalancers",{...t,marker:d,page_reverse:l})}>${r}</a>`},o=V("loadbalancers",{...t,marker:"",page_reverse:""});return i`<nav class="pages" aria-label="Pages">
    ${t.marker?i`<a href=${o}>First</a>`:i`<span class="away">First</span>`} ${n("previous","Previous")} ${n("next","Next")}
  </nav>`}function ca({query:e,ask:t,live:n}){let o=D(async()=>(await H(_(`${f}/environments`))).environments||[],n.newest).data||[],a=la(e.environment),r=(c,d,l,p={})=>i`<label
      >${c}
      <select value=${e[d]||""} onChange=${u=>t({[d]:u.target.value,...p})}>
        <option value="">any</option>
        ${l.map(u=>Array.isArray(u)?i`<option value=${u[0]}>${u[1]}</option>`:i`<option>${u}</option>`)}
      </select></label
    >`,s=uo.some(c=>e[c]&&c!=="sort"&&c!=="marker"&&c!=="page_reverse");return i`<form class="search" role="search" onSubmit=${c=>c.preventDefault()}>
    <${co} label="Search" type="search" wide value=${e.q||""} hint="name, VIP, member's address, project or id" told=${c=>t({q:c},{instead:!!e.q&&!!c})} />
    ${r("Provisioning","provisioning_status",ta)} ${r("Operating","operating_status",na)}
    ${o.length>0&&r("Environment","environment",o.map(c=>c.name),{group_number:""})}
    ${e.environment&&r("Device group","group_number",a)}
    <${co} label="Project" value=${e.project_id||""} hint="whole id" told=${c=>t({project_id:c})} />
    ${r("Imported, held","held",[["true","held"],["false","not held"]])}
    ${s&&i`<a class="clear" href=${V("loadbalancers",{sort:e.sort})}>Clear</a>`}
  </form>`}function la(e){return D(async()=>{if(!e)return[];let{agents:n=[]}=await H(_(`${f}/agents?environment=${encodeURIComponent(e)}`));return[...new Set(n.map(o=>o.group_number))].sort((o,a)=>o-a).map(String)},0,[e]).data||[]}function co({label:e,value:t,hint:n,told:o,wide:a,type:r="text"}){let[s,c]=E(t),d=J(0),l=J(t);N(()=>{t!==l.current&&c(t),l.current=t},[t]);function p(u){let $=u.target.value;c($),clearTimeout(d.current),d.current=setTimeout(()=>{l.current=$.trim(),o(l.current)},ea)}return N(()=>()=>clearTimeout(d.current),[]),i`<label class=${a?"wide":""}>${e} <input type=${r} value=${s} onInput=${p} placeholder=${n} maxlength="255" spellcheck="false" autocomplete="off" /></label>`}var z=e=>({text:e,state:"done"}),X=e=>({text:e,state:"waiting"}),$o=e=>({text:e,state:"failed"}),qe=e=>e?`; waiting: ${e}`:"",da=15e3;async function Te(e){return(await _(`${f}/agents/${encodeURIComponent(e)}`)).agent}var mo=e=>t=>Object.entries(e).every(([n,o])=>JSON.stringify(t[n])===JSON.stringify(o)),Ot={async leaving(e){let t=await Te(e);return!t.acting_shards&&t.state!=="draining"?z(`${t.host} is ${t.state}, it serves no shard`):X(`${t.host} is ${t.state}, ${F(t.acting_shards,"shard")} left${qe(t.waiting_reason)}`)},async comingHome(e){let t=await Te(e);return t.admin_state_up&&!t.away_shards?z(`${t.host} is ${t.state}, its shards are home`):X(`${t.host} is ${t.state}, ${F(t.away_shards,"shard")} away${qe(t.away_reason)}`)},async notForcedDown(e){let t=await Te(e);return t.forced_down?X(`${t.host} is ${t.state}`):z(`${t.host} is ${t.state}`)},async rebound(e){let t=await Te(e);return!t.home_shards&&!t.acting_shards?z(`no shard is left at ${t.host}`):X(`${F(t.acting_shards,"shard is","shards are")} still at ${t.host}${qe(t.waiting_reason)}`)},async shardAt(e,t){let o=(await _(`${f}/shards?agent_id=${encodeURIComponent(t)}`)).shards.find(r=>r.id===e),a=await Te(t);return o&&o.acting_agent_id===t?z(`${a.host} serves it, epoch ${o.epoch}`):X(o?`its home is ${a.host}; it is still served elsewhere`:"its home is not changed yet")},async resumed(e){let{environment:t}=await _(`${f}/environments/${encodeURIComponent(e)}`);if(t.halted)return X(t.halted);let n=(await _(`${f}/shards?environment=${encodeURIComponent(e)}`)).shards.filter(o=>!o.served);return n.length?X(`the breaker is closed; ${F(n.length,"shard is","shards are")} not served yet`):z("the breaker is closed, every shard is served")},async gone(e){try{await _(e)}catch(t){if(t.status===404)return z("it is deleted");throw t}return X("it is still there")},async listed(e,t,n,o){return(await _(e))[t].some(mo(n))?z(o):X("not seen yet")},async unlisted(e,t,n){return(await _(e))[t].some(mo(n))?X("it is still there"):z("it is deleted")},async read(e,t,n){let o=(await _(`${f}/references`)).references.filter(s=>!e||s.reference===e),a=o.filter(s=>Date.parse(`${s.checked_at}Z`)<t);if(!a.length)return z(`${F(o.length,"reference was","references were")} read again`);let r=a.filter(s=>s.problem);return Date.now()>n&&r.length===a.length?$o(`${F(r.length,"reference","references")} cannot be read: ${r[0].reference}: ${r[0].problem}`):X(`${F(a.length,"reference is","references are")} not read yet`)},async applied(e){let{hosting:t}=await _(`${f}/loadbalancers/${e}/agent`),n=t.acting?` by ${t.acting.host}`:"";return t.provisioning_status==="ERROR"?$o(t.status_reason||"it is in ERROR"):t.provisioning_status==="ACTIVE"&&t.applied_revision>=t.revision?z(`revision ${t.applied_revision} is on the devices${n}`):X(`${t.provisioning_status}${qe(t.status_reason)}`)},async moved(e){let[t]=(await _(`${f}/moves?load_balancer_id=${e}`)).moves;if(!t)return X("it begins");let n=t.reason?` (${t.reason})`:"";if(t.step==="done"){let o=t.gap_seconds===null?"":`; no devices were confirmed to answer for ${t.vip_address} for ${t.gap_seconds.toFixed(2)} s`;return z(`${t.back?"it went back":`it is on ${t.target}`}${n}${o}`)}return t.step==="draining"&&t.by_operator?X(`route ${t.vip_address} to device group ${t.target}, then finish the move`):X(`${t.step}${n}, from ${t.source} to ${t.target}`)},async movedAll(e){let t=(await _(`${f}/moves`)).moves.filter(o=>e.includes(o.load_balancer_id)),n=t.filter(o=>o.step!=="done");return n.length||t.length<e.length?X(`${e.length-t.length+n.length} of ${e.length} are still moving`):z(`${e.length} are moved`)},async activeAgain(e){let{loadbalancer:t}=await _(`${oe}/loadbalancers/${e}`);return t.provisioning_status==="ACTIVE"?z("ACTIVE"):X(t.provisioning_status)},async orphanRemoved(e,t){let{rows:n,problem:o}=await Xe(e);return o?X(o):n.some(a=>a.id===t)?X("devices still hold it"):z("devices hold it no more")},async historyAccepted(e){return(await _(`${f}/database`)).database.unknown_histories.some(n=>n.history_id===e)?X("still unknown"):z("it is accepted")},async seen(e){return z(e)}},S=Object.fromEntries(Object.keys(Ot).map(e=>[e,(...t)=>({name:e,args:t})])),Et=e=>S.read(e,ie()-1e3,Date.now()+da),Tt=({name:e,args:t})=>Object.hasOwn(Ot,e)&&Array.isArray(t)?()=>Ot[e](...t):void 0;var ua=1e3,pa=2e4,$a=30*6e4,ho=20,_o="evenkeel-underway",ma={waiting:["other","◌"],done:["good","●"],failed:["bad","▲"]},fa=0,$e=[],Rt=new Set;function ze(e){$e=e($e),sessionStorage.setItem(_o,JSON.stringify($e.map(({title:t,watch:n,until:o})=>({title:t,watch:n,until:o}))));for(let t of Rt)t($e)}var Pt=(e,t)=>ze(n=>n.map(o=>o.number===e.number?{...o,...t}:o)),go=e=>ze(t=>t.filter(n=>n.number!==e.number)),ha=e=>$e.some(t=>t.number===e.number),_a=e=>new Promise(t=>setTimeout(t,e));Un(()=>ze(()=>[]));async function Dt(e,t,n=Date.now()+$a){let o=Tt(t),a={number:++fa,title:e,watch:t,until:n,text:"asked for",state:"waiting"};ze(r=>[...r,a].slice(-ho));for(let r="waiting";r==="waiting"&&ha(a);){try{let s=await o();r=s.state,Pt(a,s)}catch(s){Pt(a,{text:s.message})}if(r==="waiting"&&Date.now()>n)return Pt(a,{text:"not done after half an hour; it goes on",state:"failed"});await _a(r==="waiting"?ua:pa),r==="done"&&go(a)}}var fo=!1;function ga(){if(fo)return;fo=!0;let e=[];try{e=JSON.parse(sessionStorage.getItem(_o)||"[]")}catch{}for(let{title:t,watch:n,until:o}of e.slice(-ho))n&&Tt(n)&&Dt(t,n,o)}function vo(){let[e,t]=E($e);return N(()=>(Rt.add(t),ga(),t($e),()=>Rt.delete(t)),[]),i`<section class="underway" aria-label="Under way">
    <ul role="list" aria-live="polite">
      ${e.map(n=>{let[o,a]=ma[n.state];return i`<li key=${n.number} class=${n.state}>
          <span><strong>${n.title}</strong> <span class="status ${o}"><span aria-hidden="true">${a}</span> ${n.state==="waiting"?"under way":n.state}</span>: ${n.text}</span>
          <button type="button" onClick=${()=>go(n)} aria-label="Dismiss: ${n.title}">×</button>
        </li>`})}
    </ul>
  </section>`}var va=13e4,ba=300,ya=5e3,Ye=_n({});function bo({children:e}){let[t,n]=E({});return N(()=>{let o=null,a=()=>_(`${f}/acts`).then(({acts:r})=>n(Object.fromEntries(r.map(s=>[s.name,s]))),r=>r.status===0&&(o=setTimeout(a,ya)));return a(),()=>clearTimeout(o)},[]),i`<${Ye.Provider} value=${t}>${e}<//>`}function Pe(...e){let t=Ge(Ye);return e.some(n=>t[n]&&t[n].allowed)}function Y({names:e,children:t}){let n=e.map(o=>Ge(Ye)[o]).filter(Boolean);return n.length?n.some(o=>o.allowed)?i`<div class="actions">${t}</div>`:i`<p class="empty">Actions need the role ${n[0].roles.join(" or ")||"of an operator"}.</p>`:null}var wa=(e,t)=>`..${e.replace(/\{(\w+)\}/g,(n,o)=>encodeURIComponent(t[o]))}`;function T({name:e,label:t,about:n,params:o={},fields:a=[],body:r,query:s,command:c,plan:d,facts:l,watch:p,done:u=()=>{}}){let $=Ge(Ye)[e],[m,g]=E(!1);if(!$||!$.allowed)return null;let v=n?`${t} ${n}`:t;return i`<button type="button" onClick=${()=>g(!0)} aria-label=${v}>${t}</button>
    ${m&&i`<${ka} ...${{act:$,title:v,label:t,params:o,fields:a,body:r,query:s,command:c,plan:d,facts:l,watch:p,done:u}} close=${()=>g(!1)} />`}`}function ka({act:e,title:t,label:n,params:o,fields:a,body:r,query:s,command:c,plan:d,facts:l,watch:p,done:u,close:$}){let m=J(null),[g,v]=E(()=>Object.fromEntries(a.map(C=>[C.name,C.initial??(C.options?Aa(C):"")]))),[w,h]=E(null),[y,R]=E(!1),k=Sa(d,g);N(()=>{m.current.showModal()},[]);async function M(C){if(C.preventDefault(),!y){R(!0);try{let W=s?`?${new URLSearchParams(s(g))}`:"",Z=await Ke(e.method,wa(e.path,o)+W,r&&await r(g),va);p&&Dt(t,p(Z,g)),$(),u()}catch(W){h(W),R(!1)}}}let L=a.some(C=>C.required&&!g[C.name]);return i`<dialog ref=${m} class="act" onClose=${$} aria-label=${t}>
    <form onSubmit=${M}>
      <h2>${t}?</h2>
      <p>${e.effect}</p>
      ${l&&i`<p>${l}</p>`}
      ${a.map(C=>i`<${xa} key=${C.name} field=${C} value=${g[C.name]} set=${W=>v(Z=>({...Z,[C.name]:W}))} />`)}
      ${d&&i`<div class="plan" aria-live="polite">${k.busy?i`<p>Asking for the plan…</p>`:k.view}<${O} error=${k.error} />${k.problem&&i`<p class="failure">${k.problem}</p>`}</div>`}
      ${c&&i`<p class="also">The same: <code>${c(g)}</code></p>`}
      <${O} error=${w} />
      <p class="buttons">
        <button type="submit" class="confirm" disabled=${y||L||k.busy||!!k.problem}>${n}</button>
        <button type="button" onClick=${$}>Cancel</button>
        ${y&&i`<span role="status">Asking…</span>`}
      </p>
    </form>
  </dialog>`}var Aa=e=>e.options.length?e.options[0][0]:"";function Sa(e,t){let[n,o]=E({busy:!!e}),a=JSON.stringify(t);return N(()=>{if(!e)return;let r=!0;o({busy:!0});let s=setTimeout(async()=>{try{let c=await e(t);r&&o({busy:!1,...c})}catch(c){r&&o({busy:!1,error:c})}},ba);return()=>{r=!1,clearTimeout(s)}},[a]),n}function xa({field:e,value:t,set:n}){let{name:o,label:a,kind:r="text",options:s,required:c,help:d,hint:l}=e,p=d&&i`<small>${d}</small>`;if(r==="checkbox")return i`<label class="field check"><input type="checkbox" name=${o} checked=${t} onChange=${m=>n(m.target.checked)} /> ${a}</label>`;let u={name:o,required:c,onInput:m=>n(m.target.value)},$=s?i`<select name=${o} value=${t} onChange=${m=>n(m.target.value)}>${s.map(([m,g])=>i`<option value=${m}>${g}</option>`)}</select>`:r==="lines"?i`<textarea ...${u} rows="3" placeholder=${l}>${t}</textarea>`:r==="file"?i`<input type="file" name=${o} required=${c} onChange=${m=>n(m.target.files[0]||"")} />`:i`<input type=${r} ...${u} value=${t} placeholder=${l} autocomplete="off" />`;return i`<label class="field">${a} ${$} ${p}</label>`}var re=e=>(e||"").split(/[\s,]+/).filter(Boolean),le=e=>Object.fromEntries(Object.entries(e).filter(([,t])=>t!==""&&t!==null&&t!==void 0));function Re({plan:e}){return e.devices.length?e.devices.map(t=>i`<${Oa} key=${t.device} device=${t} host=${e.host} />`):i`<p>Nothing: the load balancer is gone.</p>`}function Oa({device:e,host:t}){return i`<h3>${e.device}, read by ${t}</h3>
    ${e.problem&&i`<p class="failure">${e.problem}</p>`}
    ${!e.operations.length&&!e.problem?i`<p class="status good"><span aria-hidden="true">●</span> It holds what is desired: no difference.</p>`:i`<${Ea} device=${e.device} steps=${e.operations} />`}
    ${e.more>0&&i`<p>${F(e.more,"more object differs","more objects differ")}.</p>`}
    ${e.left.length>0&&i`<p>Stays, no load balancer needs it: ${e.left.join(", ")}</p>`}`}function Ea({device:e,steps:t}){return t.length?i`<div class="scroll" tabindex="0" role="region" aria-label="Differences on ${e}">
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
  </div>`:null}var Ta=["agent_drain","agent_undrain","agent_failback","agent_force_down","agent_rebind","agent_delete"],Pa=13e4;function Nt({agent:e,done:t}){let n=e.admin_state_up,o=n?"drain":"undrain";return i`<${T}
    name="agent_${o}"
    label=${n?"Drain":"Undrain"}
    about=${e.host}
    params=${{id:e.id}}
    facts=${n?`It serves ${F(e.acting_shards,"shard")}.`:`${F(e.away_shards,"shard")} of its own ${e.away_shards===1?"is":"are"} elsewhere.`}
    command=${()=>`evenkeel agent ${o} ${e.host} --wait`}
    watch=${()=>n?S.leaving(e.id):S.comingHome(e.id)}
    done=${t}
  />`}function wo({agent:e,others:t,done:n}){let o={id:e.id},a=t.map(s=>[s.id,`${s.host}, ${s.state}`]),r=!e.alive;return i`<${Y} names=${Ta}>
    <${Nt} agent=${e} done=${n} />
    ${e.away_shards>0&&i`<${T}
      name="agent_failback"
      label="Fail back"
      about=${e.host}
      params=${o}
      facts=${`${F(e.away_shards,"shard")} of it ${e.away_shards===1?"is":"are"} elsewhere. ${e.away_reason}`}
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
      facts=${`It is home to ${F(e.home_shards,"shard")}.`}
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
      facts=${`It is ${e.state}, and home to ${F(e.home_shards,"shard")}.`}
      fields=${[{name:"rebind_to",label:"New home of its load balancers",options:[["","none"],...a]}]}
      query=${({rebind_to:s})=>s?{rebind_to:s}:{}}
      command=${({rebind_to:s})=>`evenkeel agent delete ${e.host}${s?` --rebind-to ${s}`:""}`}
      watch=${()=>S.gone(`${f}/agents/${encodeURIComponent(e.id)}`)}
    />`}
  <//>`}function ko({shard:e,agents:t,driver:n,done:o}){let a=t.filter(s=>s.id!==e.home_agent_id).map(s=>[s.id,`${s.host}, ${s.state}`]),r=`of project ${e.project_id.slice(0,8)}`;return i`<div class="actions">
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
    ${n==="bigip"&&i`<${yo} shard=${e} about=${r} back=${!1} done=${o} /><${yo} shard=${e} about=${r} back=${!0} done=${o} />`}
  </div>`}function yo({shard:e,about:t,back:n,done:o}){let a=(r,s)=>({adoption:{apply:r,...n?{give_back:!0}:{},...s.keep_irules?{keep_irules:!0}:{}}});return i`<${T}
    name="shard_adopt"
    label=${n?"Give back":"Adopt"}
    about="partition ${t}"
    params=${{id:e.id}}
    facts=${n?"The partition becomes the other program's again; nothing of it is changed any more.":""}
    fields=${n?[]:[{name:"keep_irules",label:"Keep iRules of operators on the virtual servers",kind:"checkbox",initial:!1}]}
    plan=${async r=>({view:i`<${Re} plan=${(await te(`${f}/shards/${e.id}/adoption`,a(!1,r),Pa)).adoption} />`})}
    body=${r=>a(!0,r)}
    command=${({keep_irules:r})=>`evenkeel adopt ${e.project_id} --environment ${e.environment}${n?" --back":""}${r?" --keep-irules":""} --yes`}
    watch=${r=>S.seen(`${r.adoption.host} has ${n?"given the partition back":"adopted the partition; the next pass changes what the plan named"}`)}
    done=${o}
  />`}var Ao=async(e,t)=>(await _(`${f}/agents?environment=${encodeURIComponent(e)}&group_number=${t}`)).agents;var Je=50,So=e=>`${e.environment}/${e.group_number}`,xo=e=>e.alive?`${e.devices.filter(t=>t.reachable).length} of ${e.devices.length}`:"not known";function Oo({live:e}){let{data:t,error:n,at:o,again:a}=D(async()=>(await _(`${f}/agents`)).agents,e.newest),r=Pe("agent_drain"),s=[["Host",c=>i`<a href="#/agents/${c.id}">${c.host}</a>`],["Device group",So],["State",c=>i`<${P} value=${c.state} />`],["Lease",c=>Eo(c,o)],["Last report",c=>ne(c.reported_at)],["Shards",c=>c.acting_shards],["At home",c=>c.home_shards],["Queue",c=>c.queue_depth],["Devices in reach",xo],["Shards wait because",c=>c.waiting_reason||c.away_reason],...r?[["Action",c=>i`<${Nt} agent=${c} done=${a} />`]]:[]];return i`<h1>Agents</h1>
    <${O} error=${n} loading=${!t} />
    <${G} caption="Agents" columns=${s} rows=${t} empty="No agent has registered yet. evenkeel-agent on a host that reaches the devices does." />
    <${Y} names=${["agent_drain"]} />
    <${x} command="evenkeel agent list" path="${f}/agents" />`}function Eo(e,t){return e.alive&&e.session_expires_at?`${ao(Date.parse(`${e.session_expires_at}Z`)-t)} left`:e.silent_since?`silent for ${ne(e.silent_since)}`:"none"}function To({id:e,live:t}){async function n(){let[l,p,u]=await Promise.all([_(`${f}/agents/${e}`),_(`${f}/shards?agent_id=${e}`),H(_(`${f}/agents/${e}/loadbalancers?limit=${Je}`))]),{environment:$,group_number:m}=l.agent;return{agent:l.agent,group:await Ao($,m),shards:p.shards.filter(g=>g.project_id),balancers:u}}let{data:o,error:a,at:r,again:s}=D(n,t.newest,[e]),c=Pe("shard_rebind","shard_adopt"),d=o&&o.agent;return i`<p><a href="#/agents">All agents</a></p>
    <h1>${d?d.host:j(e)}</h1>
    <${O} error=${a} loading=${!o} />
    ${d&&i`<${ce}
        facts=${[["State",i`<${P} value=${d.state} />`],["Device group",So(d)],["Lease",Eo(d,r)],["Last report",ne(d.reported_at)],["Shards that it acts for",d.acting_shards],["Shards whose home it is",d.home_shards],["Queue",d.queue_depth],["Devices in reach",xo(d)],["Why shards wait",d.waiting_reason||d.away_reason],["Device driver",d.device_driver]]}
      />
      <${wo} agent=${d} others=${o.group.filter(l=>l.id!==e)} done=${s} />
      <h2>Devices as it sees them</h2>
      <${G}
        caption="Devices"
        columns=${[["Device",l=>l.own_name||l.name],["Address",l=>l.name],["Reached",l=>i`<${P} value=${l.reachable===null?"not known":l.reachable?"reached":"out of reach"} />`],["Failover",l=>l.failover_state],["Config sync",l=>l.sync_state],["Version",l=>l.version],["Problem",l=>l.problem]]}
        rows=${d.devices}
        empty="It has not reported a device yet."
      />
      <h2>Shards</h2>
      <${G}
        caption="Shards"
        columns=${[["Tenant",l=>i`<span title=${l.project_id}>${j(l.project_id)}</span>`],["Epoch",l=>l.epoch],["It is",l=>Ra(l,e)],["Served",l=>i`<${P} value=${l.served?"served":"unserved"} />`],...c?[["Action",l=>i`<${ko} shard=${l} agents=${o.group} driver=${d.device_driver} done=${s} />`]]:[]]}
        rows=${o.shards.slice(0,Je)}
        empty="It has no tenant."
      />
      ${o.shards.length>Je&&i`<p>${o.shards.length-Je} more: <code>evenkeel shard list --agent ${d.host}</code></p>`}
      <h2>Load balancers</h2>
      <${O} error=${o.balancers.refused} />
      <${G}
        caption="Load balancers"
        columns=${[["Name",l=>i`<a href="#/loadbalancers/${l.id}">${l.name||j(l.id)}</a>`],["VIP",l=>l.vip_address],["Provisioning",l=>i`<${P} value=${l.provisioning_status} />`],["Operating",l=>i`<${P} value=${l.operating_status} />`]]}
        rows=${o.balancers.loadbalancers}
        empty="None."
      />`}
    <${x} command="evenkeel agent show ${d?d.host:e}" path="${f}/agents/${e}" />`}function Ra(e,t){let n=[];return e.acting_agent_id===t&&n.push("acting agent"),e.home_agent_id===t&&n.push("home"),n.join(", ")}var Da=864e5,Na=7,Ca=30,Po=365.25,Ma=2*Po,ja=[["All",{}],["Expire within 30 days",{expiring_days:"30"}],["Cannot be read",{unreadable:"true"}]];function Ro({until:e}){if(!e)return"–";let t=Math.floor((Date.parse(`${e}Z`)-ie())/Da);if(t<0)return i`<${P} value="expired" />`;let n=t<Na?"bad":t<Ca?"unsure":"good";return i`<span class="status ${n}" title=${`until ${e} UTC`}><span aria-hidden="true">${{bad:"▲",unsure:"◆",good:"●"}[n]}</span> ${t>Ma?F(Math.floor(t/Po),"year"):F(t,"day")} left</span>`}function Ct({rows:e,caption:t,empty:n,more:o=[]}){let a=[["Reference",r=>i`<code>${r.reference}</code>`],["Kind",r=>r.kind.replace("_"," ")],["Valid",r=>i`<${Ro} until=${r.not_after} />`],["Subject",r=>r.subject||"–"],["Names",r=>(r.dns_names||[]).join(", ")],["Problem",r=>r.problem&&i`<${P} value="failed" /> ${r.problem}`],...o,["Action",r=>i`<${Ia} reference=${r.reference} />`]];return i`<${G} caption=${t} columns=${a} rows=${e.map(r=>({...r,id:`${r.project_id} ${r.kind} ${r.reference}`}))} empty=${n} />`}function Ia({reference:e}){return i`<${T}
    name="reference_refresh"
    label="Refresh"
    about=${e}
    body=${()=>({refresh:{reference:e}})}
    command=${()=>`evenkeel certificate refresh '${e}'`}
    watch=${()=>Et(e)}
  />`}function Do({live:e,query:t}){let n=new URLSearchParams(Object.entries(t).filter(([s])=>["expiring_days","unreadable","project_id"].includes(s))),o=n.size?`${f}/references?${n}`:`${f}/references`,{data:a,error:r}=D(async()=>(await _(o)).references,e.newest,[o]);return i`<h1>Certificates</h1>
    <nav class="filters" aria-label="Which">
      ${ja.map(([s,c])=>i`<a href=${V("certificates",c)} aria-current=${String(new URLSearchParams(c))===String(n)?"true":null}>${s}</a>`)}
    </nav>
    <${O} error=${r} loading=${!a} />
    ${a&&i`<${Ct}
      rows=${a}
      caption="Certificates in use"
      empty=${n.size?"None is like that.":"No listener or pool refers to a certificate."}
      more=${[["Load balancers",s=>s.load_balancers],["Project",s=>i`<a href=${V("loadbalancers",{project_id:s.project_id})}>${s.project_id.slice(0,8)}</a>`]]}
    />`}
    <${Y} names=${["reference_refresh"]}>
      <${T} name="reference_refresh" label="Refresh all" body=${()=>({refresh:{}})} command=${()=>"evenkeel certificate refresh"} watch=${()=>Et("")} />
    <//>
    <${x} command="evenkeel certificate list --expiring 36500" path=${o} />
    <${Ua} live=${e} />`}var Ze=`${f}/certificates`,La=[["certificate","certificate with key"],["authority","CA certificates"],["revocation_list","revocation list"]];function Ua({live:e}){let{data:t,again:n}=D(()=>H(_(Ze)).catch(a=>({problem:a.message})),e.newest);if(!t||t.refused)return null;let o=[["Reference",a=>i`<code>${a.reference}</code>`],["Kind",a=>a.kind.replace("_"," ")],["Valid",a=>i`<${Ro} until=${a.not_after} />`],["Subject",a=>a.subject||"–"],["Action",a=>i`<${T}
      name="certificate_delete"
      label="Delete"
      about=${a.name}
      params=${{project_id:a.project_id,name:a.name}}
      command=${()=>`evenkeel certificate delete ${a.reference}`}
      watch=${()=>S.unlisted(Ze,"certificates",{reference:a.reference})}
      done=${n}
    />`]];return i`<h2>Stored by the controllers</h2>
    ${t.problem&&i`<p class="empty">${t.problem}</p>`}
    ${t.certificates&&i`<${G} caption="Stored certificates" columns=${o} rows=${t.certificates.map(a=>({...a,id:a.reference}))} empty="None is stored." />
      <${Y} names=${["certificate_create"]}>
        <${T}
          name="certificate_create"
          label="Add certificate"
          fields=${[{name:"project_id",label:"Project (id)",required:!0},{name:"name",label:"Name",required:!0},{name:"kind",label:"Kind",options:La},{name:"file",label:"File: PEM, or PKCS#12 of a certificate",kind:"file",required:!0},{name:"private_key",label:"Key, if it is in a file of its own (PEM)",kind:"file"},{name:"intermediates",label:"Intermediates, if they are (PEM)",kind:"file"},{name:"passphrase",label:"Passphrase",kind:"password"},{name:"replace",label:"Replace one with that name",kind:"checkbox",initial:!1}]}
          body=${Fa}
          command=${({project_id:a,name:r,file:s})=>`evenkeel certificate add ${r} --project ${a} --file ${s?s.name:"FILE"}`}
          watch=${({certificate:{reference:a,sha256:r,not_after:s}})=>S.listed(Ze,"certificates",{reference:a,sha256:r},`${a}, valid until ${s||"–"}`)}
          done=${n}
        />
      <//>`}
    <${x} command="evenkeel certificate list" path=${Ze} />`}async function Fa({file:e,private_key:t,intermediates:n,...o}){let a=new Uint8Array(await e.arrayBuffer()),r=new TextDecoder().decode(a),s=r.includes("-----BEGIN ")?{pem:r}:{pkcs12:btoa(Array.from(a,d=>String.fromCharCode(d)).join(""))},c=le({private_key:t&&await t.text(),intermediates:n&&await n.text()});return{certificate:{...le(o),...s,...c}}}var Ba=async()=>(await _(`${f}/topology`)).topology,Mt=e=>[...e].sort((t,n)=>(t.own_name||t.name).localeCompare(n.own_name||n.name,"en",{numeric:!0}));function No({live:e}){let{data:t,error:n}=D(Ba,e.newest),o=t&&t.groups.flatMap(r=>Mt(r.devices).map(s=>({...s,id:`${r.environment}/${r.group_number}/${s.name}`,group:r})));return i`<h1>Devices</h1>
    <p>As reported by the agents of their device group; where reports differ, by one that reaches the device.</p>
    <${O} error=${n} loading=${!t} />
    <${G} caption="Devices" columns=${[["Device",r=>r.own_name||r.name],["Address",r=>r.name],["Device group",r=>`${r.group.environment}/${r.group.group_number}`],["Type",r=>r.group.device_driver],["State",r=>i`<${P} value=${r.reachable?"reached":"out of reach"} />`],["Failover",r=>r.failover_state],["Config sync",r=>r.sync_state],["Version",r=>r.version],["Reached by",r=>r.reached_by.join(", ")],["Not reached by",r=>r.missed_by.join(", ")],["Problem",r=>r.problem]]} rows=${o} empty="No agent has reported a device yet." />
    <${x} command="evenkeel device list" path="${f}/topology" />`}function Co({live:e}){let{data:t,error:n}=D(async()=>(await _(`${f}/controllers`)).controllers,e.newest);return i`<h1>Controllers</h1>
    <p>They are all alike and keep nothing: any of them may end. A silent one is listed for ten minutes.</p>
    <${O} error=${n} loading=${!t} />
    <${G} caption="Controllers" columns=${[["URL",a=>a.url],["Host",a=>a.host],["State",a=>i`<${P} value=${a.alive?"up":"silent"} />`],["Message broker",a=>i`<${P} value=${a.message_broker==="connected"?"connected":"out of reach"} /> ${a.message_broker==="connected"?"":a.message_broker}`],["Version",a=>a.version],["Up for",a=>a.alive?ne(a.started_at):""],["Seen",a=>`${ne(a.seen_at)} ago`]]} rows=${t} empty="None has been seen yet." />
    <${x} command="evenkeel controller list" path="${f}/controllers" />`}var De=`${f}/environments`,Ha=[["auto","automatically"],["manual","on request"],["never","never"]],Wa={description:"",failback:"auto",breaker_share:.5,breaker_agents:2,vip_networks_allowed:[],vip_networks_denied:[]};function Mo({live:e}){let{data:t,error:n,again:o}=D(async()=>(await _(De)).environments,e.newest),a=Pe("environment_resume","environment_update","environment_delete"),r=[["Name",s=>s.name],["Device driver",s=>s.device_driver],["Failback",s=>s.failback],["Circuit breaker",s=>s.halted?i`<${P} value="halted" /> ${s.halted}`:i`<${P} value="closed" />`],["Opens at",s=>`${F(s.breaker_agents,"agent")} and ${Math.round(s.breaker_share*100)} % silent`],["Description",s=>s.description],...a?[["Action",s=>i`<${Va} row=${s} done=${o} />`]]:[]];return i`<h1>Environments</h1>
    <${O} error=${n} loading=${!t} />
    <${G} caption="Environments" columns=${r} rows=${t} empty="There is no environment yet." />
    <${Y} names=${["environment_create","environment_resume"]}>
      <${T}
        name="environment_create"
        label="Create environment"
        fields=${[{name:"name",label:"Name",required:!0,help:"Letters, digits, - and _, at most 64."},{name:"device_driver",label:"Device driver",required:!0,hint:"bigip or haproxy"},...jo(Wa)]}
        body=${s=>({environment:{name:s.name,device_driver:s.device_driver,...Io(s)}})}
        command=${({name:s,device_driver:c})=>`evenkeel environment create ${s} --device-driver ${c}`}
        watch=${s=>S.listed(De,"environments",{name:s.environment.name},"it is there")}
        done=${o}
      />
    <//>
    <${x} command="evenkeel environment list" path=${De} />`}var jo=e=>[{name:"description",label:"Description",initial:e.description},{name:"failback",label:"An agent that is up again gets its shards back",options:Ha,initial:e.failback},{name:"breaker_share",label:"The breaker opens above this share of silent agents (0 to 1)",initial:String(e.breaker_share)},{name:"breaker_agents",label:"and at this number of silent agents at least",initial:String(e.breaker_agents)},{name:"vip_networks_allowed",label:"Networks and subnets of new VIPs (ids; empty: all)",kind:"lines",initial:e.vip_networks_allowed.join(`
`)},{name:"vip_networks_denied",label:"Networks and subnets that no new VIP may be on (ids)",kind:"lines",initial:e.vip_networks_denied.join(`
`)}],Io=e=>({description:e.description,failback:e.failback,breaker_share:Number(e.breaker_share),breaker_agents:Number(e.breaker_agents),vip_networks_allowed:re(e.vip_networks_allowed),vip_networks_denied:re(e.vip_networks_denied)});function Va({row:e,done:t}){let n={name:e.name};return i`<div class="actions">
    ${e.halted&&i`<${T}
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
      fields=${jo(e)}
      body=${o=>({environment:Io(o)})}
      command=${o=>`evenkeel environment set ${e.name} --failback ${o.failback} --breaker-share ${o.breaker_share} --breaker-agents ${o.breaker_agents}`}
      watch=${({environment:{failback:o,description:a,breaker_agents:r}})=>S.listed(De,"environments",{name:e.name,failback:o,description:a,breaker_agents:r},`failback ${o}, the breaker opens at ${F(r,"agent")}`)}
      done=${t}
    />
    <${T} name="environment_delete" label="Delete" about=${e.name} params=${n} command=${()=>`evenkeel environment delete ${e.name}`} watch=${()=>S.gone(`${De}/${e.name}`)} done=${t} />
  </div>`}function Ga({request_id:e,client_address:t}){return e?`from ${t}, ${e}`:null}function jt({events:e}){return e.length?i`<ol class="events">
    ${e.map(t=>i`<li key=${t.id}>
        <time>${t.at.replace("T"," ").slice(0,19)}</time>${" "}<span class="kind">${t.kind}</span>${" "}
        <span title=${Ga(t)}>${t.load_balancer_id?i`<a href="#/loadbalancers/${t.load_balancer_id}">${t.text}</a>`:t.text}</span>
      </li>`)}
  </ol>`:i`<p>No events yet.</p>`}function It({live:e,most:t}){return e.error&&e.error.status===403?i`<${Oe} error=${e.error} />`:i`<${jt} events=${t?e.events.slice(0,t):e.events} />`}function Lo({live:e}){return i`<h1>Events</h1>
    <p>New ones appear at the top, times are UTC.</p>
    <div aria-live="polite"><${It} live=${e} /></div>
    <${x} command="evenkeel events --follow" path="${f}/events?newest=true" />`}var Uo=`${f}/moves`;function Ut(e){let t=[...e.problems,...e.loadbalancers.flatMap(o=>o.problems)],n=e.loadbalancers.map(o=>i`<p>${o.name||o.load_balancer_id} (${o.vip_address}), from ${o.source||"nowhere"} to ${e.target}:</p>
      <ol>
        ${o.steps.map(a=>i`<li>${a}</li>`)}
      </ol>`);return{view:n.length?n:i`<p>There is nothing to move.</p>`,problem:t.join("; ")||(n.length?"":"There is nothing to move.")}}function Fo({id:e,name:t,groups:n,done:o}){if(!n.length)return null;let a=({to:r},s)=>({move:{load_balancer_id:e,...Lt(r),apply:s}});return i`<${T}
    name="move_create"
    label="Move"
    about=${t}
    fields=${[{name:"to",label:"To device group",options:n.map(r=>[r,r])}]}
    plan=${async r=>Ut((await te(Uo,a(r,!1))).move)}
    body=${r=>a(r,!0)}
    command=${({to:r})=>`evenkeel move ${e} --to-environment ${Lt(r).to_environment} --to-group ${Lt(r).to_group} --yes`}
    watch=${()=>S.moved(e)}
    done=${o}
  />`}function Lt(e){let t=e.lastIndexOf("/");return{to_environment:e.slice(0,t),to_group:Number(e.slice(t+1))}}function Qe({move:e,done:t}){let n=e.load_balancer_id,o=`the move of ${e.name||n.slice(0,8)}`;return i`<div class="actions">
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
  </div>`}var Bo=e=>_(`${Uo}?${new URLSearchParams(le({load_balancer_id:e}))}`);var Ft={listener:["listener","listener","listener",e=>`listeners/${e}`],pool:["pool","pool","pool",e=>`pools/${e}`],member:["member","member","member",(e,t)=>`pools/${t}/members/${e}`],healthmonitor:["health monitor","healthmonitor","healthmonitor",e=>`healthmonitors/${e}`],l7policy:["L7 policy","l7policy","l7policy",e=>`l7policies/${e}`],rule:["L7 rule","rule","l7rule",(e,t)=>`l7policies/${t}/rules/${e}`],ratelimitpolicy:["rate limit policy","ratelimitpolicy","",e=>`ratelimitpolicies/${e}`],ratelimitrule:["rate limit rule","rule","",(e,t)=>`ratelimitpolicies/${t}/rules/${e}`]},Bt={listeners:"listener",pools:"pool",members:"member",l7policies:"l7policy",rules:"rule",rate_limit_policies:"ratelimitpolicy",rate_limit_rules:"ratelimitrule"},Wo=new Set(["member","rule","ratelimitrule"]),Ka=new Set(["provisioning_status","operating_status"]),et=(e,t,n,o)=>`#/loadbalancers/${e}/${t}/${n}${Wo.has(t)?`/${o}`:""}`;function Vo(e){let t=new Map(e.pools.map(a=>[a.id,a])),n=new Set,o=e.listeners.map(a=>{let r=[...new Set([a.default_pool_id,...a.l7policies.map(d=>d.redirect_pool_id)])].filter(d=>t.has(d)),s=r.filter(d=>!n.has(d)).map(d=>t.get(d)),c=r.filter(d=>n.has(d)).map(d=>t.get(d));for(let d of r)n.add(d);return{...a,pools:s,shared:c}});return{...e,listeners:o,pools:e.pools.filter(a=>!n.has(a.id))}}var Xa=e=>i`<span class="status other"><span aria-hidden="true">◌</span> ${e} when last seen</span>`;function Ht({node:e,kind:t,root:n,parent:o,unseen:a}){let r=Object.entries(Bt).flatMap(([p,u])=>(e[p]||[]).map($=>[u,$]));e.health_monitor&&r.push(["healthmonitor",e.health_monitor]);let s=e.address?` ${e.address}:${e.protocol_port}`:"",c=(e.enhanced_services||[]).join(", "),d=e.metric?` ${e.threshold} ${e.metric} in ${e.interval} s`:"",l=e.name||e.type||j(e.id);return i`<ul class="tree">
    <li>
      <span class="kind">${t?Ft[t][0]:"load balancer"}</span>${" "}
      ${t?i`<a href=${et(n,t,e.id,o)}>${l}${s}${d}</a>`:l}${" "}
      <${P} value=${e.provisioning_status} />${e.status_reason&&` ${e.status_reason}`}${e.operating_status&&i` ${a?Xa(e.operating_status):i`<${P} value=${e.operating_status} />`}`}${c&&i` <span class="kind">enhanced services</span> ${c}`}
      ${(e.shared||[]).map(p=>i`<ul class="tree"><li><span class="kind">pool</span> <a href=${et(n,"pool",p.id)}>${p.name||j(p.id)}</a>, the same as above</li></ul>`)}
      ${r.map(([p,u])=>i`<${Ht} node=${u} kind=${p} root=${n} parent=${e.id} unseen=${a} />`)}
    </li>
  </ul>`}function Go({root:e,kind:t,id:n,parent:o,live:a}){let[r,s,c,d]=Ft[t]||Ft.listener,{data:l,error:p}=D(async()=>(await _(`${oe}/${d(n,o)}`))[s],a.newest,[t,n,o]);return i`<p><a href="#/loadbalancers/${e}">The load balancer</a></p>
    <h1>${r} ${l?l.name||j(n):j(n)}</h1>
    <${O} error=${p} loading=${!l} />
    ${l&&i`<${ce} facts=${Object.entries(l).map(([u,$])=>[u,za(t==="ratelimitpolicy"&&u==="rules"?"rate_limit_rules":u,$,e,n,l)])} />`}
    ${t==="listener"&&l&&i`<${qa} id=${n} root=${e} turn=${a.newest} />`}
    <${x}
      command=${c?`openstack loadbalancer ${c} show ${Wo.has(t)?`${o} `:""}${n}`:`evenkeel loadbalancer tree ${e}`}
      path="${oe}/${d(n,o)}"
    />`}function qa({id:e,root:t,turn:n}){let o=`${f}/listeners/${e}/irules`,{data:a,again:r}=D(()=>H(_(o)),n,[e]);if(!a||a.refused)return null;let{irules:s}=a.listener;return i`<h2>iRules of operators</h2>
    <p>${s.length?s.map(c=>i`<code>${c}</code> `):"None is attached."}</p>
    <div class="actions">
      <${T}
        name="listener_set_irules"
        label="Set iRules"
        params=${{id:e}}
        fields=${[{name:"irules",label:"Paths on the devices, one a line, in their order",kind:"lines",hint:"/Common/name",initial:s.join(`
`)}]}
        body=${c=>({irules:re(c.irules)})}
        command=${c=>`evenkeel irule set ${e} ${re(c.irules).join(" ")}`}
        watch=${()=>S.applied(t)}
        done=${r}
      />
    </div>
    <${x} command="evenkeel irule show ${e}" path=${o} />`}var Ho={default_pool_id:"pool",redirect_pool_id:"pool",healthmonitor_id:"healthmonitor",listener_id:"listener",pool_id:"pool"};function za(e,t,n,o){return Ka.has(e)?i`<${P} value=${t} />`:t==null||t===""?"–":Ho[e]?i`<a href=${et(n,Ho[e],t,o)}>${j(t)}</a>`:Array.isArray(t)&&Bt[e]&&t.every(a=>a&&(a.id||typeof a=="string"))?t.length?t.map(a=>a.id||a).map(a=>i`<a href=${et(n,Bt[e],a,o)}>${j(a)}</a>${" "}`):"none":typeof t=="object"?JSON.stringify(t)==="[]"?"none":i`<code>${JSON.stringify(t)}</code>`:String(t)}function tt(){let e=J(null),[t,n]=E(600);return N(()=>{let o=new ResizeObserver(([a])=>n(Math.round(a.contentRect.width)));return o.observe(e.current),()=>o.disconnect()},[]),[e,t]}var ve=220,[be,Wt,nt,ot]=[52,12,10,24],Ko=4,rt=36e5,Ya={1:rt/6,6:rt,24:4*rt},Ja=420,Za=36,Gt=e=>Date.parse(`${e}Z`),Vt=e=>new Date(e).toISOString().slice(11,16),Qa=e=>ee(e).replace(/\.0+(?= |$)/,""),me=e=>e!=null;function es(e){let t=10**Math.floor(Math.log10(e));return[1,2,4,6,8,10].find(n=>n*t>=e*.9999)*t}function Kt(e,t,n){let o=[],a=null;for(let r of e){if(!me(r[t])){a=null;continue}a!==null&&r.time-a<=n?o[o.length-1].push(r):o.push([r]),a=r.time}return o}function Xt(e,t,n,o,a){let r=[],s=n;for(let c of e)t.some(d=>me(c[d]))&&(c.time-s>a&&r.push([s,c.time]),s=c.time);return o-s>a&&r.push([s,o]),r}function Xo({title:e,unit:t,figures:n,points:o,hours:a,stepMs:r,to:s,sparse:c}){let[d,l]=tt(),[p,u]=E(null),$=s-a*rt,m=o.map(b=>({...b,time:Gt(b.at)})).filter(b=>b.time>=$),g=n.map(([b])=>b),v=r*1.75,w=m.flatMap(b=>g.map(B=>b[B])).filter(me),h=Math.max(0,...w),y=h>0?es(h):1,R=b=>be+(b-$)/(s-$)*(l-be-Wt),k=b=>ve-ot-b/y*(ve-nt-ot),M=p===null?null:m[Math.min(p,m.length-1)],L=c?m.filter(b=>me(b[g[0]])).pop():m[m.length-1],C=c||"not known yet",W=b=>g.some(B=>me(b[B]))?Z(b):"not known",Z=b=>n.map(([B,ae])=>`${ae} ${me(b[B])?`${ee(b[B])} ${t}`:"not known"}`).join(", ");function A(b){if(!m.length)return;let B=$+(b.clientX-b.currentTarget.getBoundingClientRect().left-be)/(l-be-Wt)*(s-$);u(m.reduce((ae,je,yr)=>Math.abs(je.time-B)<Math.abs(m[ae].time-B)?yr:ae,0))}function q(b){let B={ArrowLeft:-1,ArrowRight:1}[b.key];!B||!m.length||(b.preventDefault(),u(Math.max(0,Math.min(m.length-1,(p===null?m.length:p)+B))))}let Q=Ya[a]*(l<Ja?2:1),ye=[];for(let b=Math.ceil($/Q)*Q;b<=s;b+=Q)ye.push(b);let fe=`unknown-${e.replace(/\W/g,"")}`;return i`<figure class="big chart" ref=${d}>
    <figcaption>
      <span class="name">${e}</span>
      <span class="unit">${t}</span>
      <span class="read" role="status">${M?`${Vt(M.time)} UTC: ${W(M)}`:L?`${c?`last, ${Vt(L.time)}`:"now"}: ${W(L)}`:C}</span>
    </figcaption>
    <svg
      width=${l}
      height=${ve}
      role="img"
      tabindex="0"
      aria-label="${e} over the last ${a} h; ${L?W(L):C}. Arrow keys read single points."
      onPointerMove=${A}
      onPointerLeave=${()=>u(null)}
      onKeyDown=${q}
      onBlur=${()=>u(null)}
    >
      <defs>
        <pattern id=${fe} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line y2="6" class="hatch" /></pattern>
      </defs>
      ${!c&&Xt(m,g,$,s,v).map(([b,B])=>i`<rect class="unknown" fill="url(#${fe})" x=${R(b)} y=${nt} width=${Math.max(0,R(B)-R(b))} height=${ve-nt-ot} />`)}
      ${Array.from({length:Ko+1},(b,B)=>y*B/Ko).map(b=>i`<g class="axis"><line x1=${be} x2=${l-Wt} y1=${k(b)} y2=${k(b)} /><text x=${be-6} y=${k(b)+4} text-anchor="end">${b===0?"0":w.length?Qa(b):""}</text></g>`)}
      ${ye.map(b=>i`<text class="hour" x=${R(b)} y=${ve-6} text-anchor=${l-R(b)<Za/2?"end":"middle"}>${Vt(b)}</text>`)}
      ${n.map(([b],B)=>Kt(m,b,c?1/0:v).map(ae=>ae.length>1?i`<polyline class="series-${B}" points=${ae.map(je=>`${R(je.time).toFixed(1)},${k(je[b]).toFixed(1)}`).join(" ")} />`:i`<circle class="series-${B}" cx=${R(ae[0].time)} cy=${k(ae[0][b])} r="3" />`))}
      ${M&&i`<line class="cursor" x1=${R(M.time)} x2=${R(M.time)} y1=${nt} y2=${ve-ot} />
        ${n.map(([b],B)=>me(M[b])&&i`<circle class="series-${B} at" cx=${R(M.time)} cy=${k(M[b])} r="4" />`)}`}
    </svg>
    <ul class="legend">
      ${n.map(([,b],B)=>i`<li class="series-${B}">${b}</li>`)}
      ${!c&&i`<li class="gap">not known</li>`}
    </ul>
  </figure>`}var qo=240,at=60,zo=3,ts=1.75;function ns({title:e,figures:t,points:n,seconds:o,to:a}){let r=Object.keys(t),s=n.map(h=>({...h,time:Gt(h.at)})),c=s.length?s[0].time:a,d=o*1e3*ts,l=Math.max(1e-9,...s.flatMap(h=>r.map(y=>h[y]??0))),p=h=>((h-c)*qo/Math.max(1,a-c)).toFixed(1),u=h=>(at-2-h/l*(at-6)).toFixed(1),$=(h,y)=>{let R=y.map(L=>[p(L.time),u(L[h])]);if(R.length>1)return R.map(L=>L.join(",")).join(" ");let[[k,M]]=R;return`${k-zo},${M} ${+k+zo},${M}`},m=s[s.length-1],v=m&&a-m.time<=d?r.map(h=>`${t[h]&&`${t[h]} `}${ee(m[h])}`).join(" "):"not known",w=Dn();return i`<figure class="chart">
    <figcaption>${e} <strong>${v}</strong></figcaption>
    <svg viewBox="0 0 ${qo} ${at}" role="img" aria-label="${e}, now ${v}, at most ${ee(l)}" preserveAspectRatio="none">
      <defs>
        <pattern id=${w} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line y2="6" class="hatch" /></pattern>
      </defs>
      ${Xt(s,r,c,a,d).map(([h,y])=>i`<rect class="unknown" fill="url(#${w})" x=${p(h)} width=${p(y)-p(h)} height=${at} />`)}
      ${r.flatMap((h,y)=>Kt(s,h,d).map(R=>i`<polyline class="series-${y}" points=${$(h,R)} />`))}
    </svg>
  </figure>`}var qt=({lines:e,points:t,seconds:n,to:o})=>i`<div class="charts">
    ${e.map(([a,r])=>i`<${ns} key=${a} title=${a} figures=${r} points=${t} seconds=${n} to=${o} />`)}
  </div>`;var Yo=[["Connections per second",{connections:""}],["Open connections",{active_connections:""}],["Bytes per second",{bytes_in:"in",bytes_out:"out"}],["Errors per second",{request_errors:""}]],os=[...Yo,["Members online",{members_online:"",members:"of"}]];function Jo({id:e,turn:t,listeners:n}){let o=`${f}/loadbalancers/${e}/series`,{data:a,error:r,at:s}=D(()=>_(o),t,[e]);if(r&&r.status===403)return i`<h2>Traffic</h2><${Oe} error=${r} />`;if(!a||!a.points||a.points.length<2)return null;let c=a.points[0].at.slice(11,16),[d]=n.length===1?n:[],l=new Map((a.listeners||[]).map(p=>[p.listener_id,p.points]));return i`<h2>Traffic since ${c} UTC${d&&`, all of listener ${st(d)}`}</h2>
    <${qt} lines=${os} points=${a.points} seconds=${a.interval} to=${s} />
    ${n.filter(p=>l.has(p.id)).map(p=>i`<h3>Listener ${st(p)}</h3><${qt} key=${p.id} lines=${Yo} points=${l.get(p.id)} seconds=${a.interval} to=${s} />`)}
    <${x} command="evenkeel loadbalancer series ${e}" path=${o} />`}var st=e=>`${e.protocol} ${e.protocol_port}${e.name&&` (${e.name})`}`;function Qo({id:e,live:t}){async function n(){let[s,c,d,l,p,u,$,m,g]=await Promise.all([_(`${oe}/loadbalancers/${e}`),_(`${oe}/listeners?loadbalancer_id=${e}&fields=id&fields=protocol&fields=protocol_port&fields=name`),H(_(`${f}/loadbalancers/${e}/tree`)),H(_(`${f}/loadbalancers/${e}/agent`)),H(_(`${f}/loadbalancers/${e}/history`)),H(_(`${f}/events?object_id=${e}&newest=true&limit=20`)),H(_(`${f}/references?load_balancer_id=${e}`)),H(Bo(e)),H(_(`${f}/agents`))]);return{root:s.loadbalancer,listeners:c.listeners,tree:d.refused?d:Vo(d.tree),certificates:$,move:(m.moves||[]).find(v=>v.step!=="done"),groups:(g.agents||[]).map(v=>`${v.environment}/${v.group_number}`),hosting:l.refused?l:l.hosting,history:p,events:u.refused?u:u.events.slice().reverse()}}let{data:o,error:a,again:r}=D(n,t.newest,[e]);return i`<p><a href="#/loadbalancers">All load balancers</a></p>
    <h1>${o?o.root.name||j(e):j(e)}</h1>
    <${O} error=${a} loading=${!o} />
    ${o&&i`<${rs} hosting=${o.hosting} />
      <${ss} data=${o} id=${e} done=${r} />
      <${ds} data=${o} id=${e} />
      <${Jo} id=${e} turn=${o.hosting.applied_revision} listeners=${o.listeners} />
      <${is} found=${o.certificates} id=${e} />
      <h2>Objects</h2>
      ${o.tree.refused?i`<${O} error=${o.tree.refused} />`:i`<${Ht} node=${o.tree} root=${e} unseen=${!o.hosting.refused&&!(o.hosting.acting&&o.hosting.acting.alive)} />`}
      <${x} command="evenkeel loadbalancer tree ${e}" path="${f}/loadbalancers/${e}/tree" />
      <${ps} id=${e} />
      <${$s} history=${o.history} id=${e} />
      <h2>Events</h2>
      ${o.events.refused?i`<${O} error=${o.events.refused} />`:i`<${jt} events=${o.events} />`}`}
    <${x} command="evenkeel explain ${e}" path="${f}/loadbalancers/${e}/agent" />`}function rs({hosting:{explanation:e}}){if(!e)return null;let{state:t,action:n}=e;return n===as?i`<p class="verdict good"><span aria-hidden="true">●</span> ${Zo(t)}. No action is needed.</p>`:i`<div class="problem explained">
    <p><strong>▲ ${Zo(t)}.</strong></p>
    <p>What to do: ${n} <${Ee} text=${n} about="what to do" /></p>
  </div>`}var as="nothing",Zo=e=>e.slice(0,1).toUpperCase()+e.slice(1);function ss({data:{root:e,hosting:t,move:n,groups:o},id:a,done:r}){if(t.refused)return null;let s=e.name||j(a),c=t.shard&&`${t.shard.environment}/${t.shard.group_number}`,d=[...new Set(o)].filter(l=>l!==c).sort();return i`<${Y} names=${["loadbalancer_failover","move_create","loadbalancer_import"]}>
    ${!t.held&&i`<${T}
      name="loadbalancer_failover"
      label="Apply again"
      about=${s}
      params=${{id:a}}
      facts=${t.acting?`${t.acting.host} serves it now.`:"No agent serves it now."}
      plan=${async()=>({view:i`<p>What the next pass would change:</p><${Re} plan=${(await te(`${f}/loadbalancers/${a}/plan`,void 0,er)).plan} />`})}
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
    ${n?i`<${Qe} move=${n} done=${r} />`:i`<${Fo} id=${a} name=${s} groups=${d} done=${r} />`}
  <//>`}function is({found:e,id:t}){return e.references&&!e.references.length?null:i`<h2>Certificates</h2>
    <${O} error=${e.refused} />
    ${e.references&&i`<${Ct} rows=${e.references} caption="Certificates of this load balancer" empty="" />`}
    <${x} command="evenkeel certificate list --expiring" path="${f}/references?load_balancer_id=${t}" />`}var cs=e=>e.map(st).join(", ")||"none",ls=e=>i`<code>${e}</code> <${Ee} text=${e} about="the id" />`;function ds({data:{root:e,hosting:t,listeners:n},id:o}){if(t.refused)return i`<${us} root=${e} /><${O} error=${t.refused} />`;let a=t.revision-t.applied_revision;return i`<${ce}
    facts=${[["Id",ls(o),"long"],["VIP",e.vip_address],["Listeners",cs(n)],["Environment",t.shard?`${t.shard.environment}, device group ${t.shard.group_number}`:`${e.provider}, not placed yet`],["Project",i`<a href=${V("loadbalancers",{project_id:e.project_id})}>${e.project_id}</a>`],["Flavor",e.flavor_id||""],["Data path",t.data_path==="kernel"?"kernel":""],["Availability zone",e.availability_zone||""],["Provisioning",i`<${P} value=${t.provisioning_status} /> ${t.status_reason}`],["Operating",i`<${P} value=${t.operating_status} /> ${t.operating_reason}`],["Desired revision",t.revision],["On the devices",`${t.applied_revision}${a?` (${a} behind)`:" (the same)"}`],["Written by",t.acting?i`<a href="#/agents/${t.acting.id}">${t.acting.host}</a>, epoch ${t.shard.epoch}`:"no agent"],["Home",t.home?i`<a href="#/agents/${t.home.id}">${t.home.host}</a>`:"none"],["Before it in line",t.ahead||""]]}
  />`}function us({root:e}){return i`<${ce}
    facts=${[["VIP",e.vip_address],["Project",e.project_id],["Provisioning",i`<${P} value=${e.provisioning_status} /> ${e.status_reason}`],["Operating",i`<${P} value=${e.operating_status} />`]]}
  />`}var er=3e4;function ps({id:e}){let[t,n]=E({plan:null,error:null,asking:!1});async function o(){n({plan:null,error:null,asking:!0});try{n({plan:(await te(`${f}/loadbalancers/${e}/plan`,void 0,er)).plan,error:null,asking:!1})}catch(a){n({plan:null,error:a,asking:!1})}}return i`<section aria-labelledby="difference">
    <h2 id="difference">Desired and observed</h2>
    <p><button type="button" onClick=${o} disabled=${t.asking}>Compare with the devices</button>${" "}
      Its agent reads the devices and says what its next pass would change. Nothing is changed.</p>
    <div aria-live="polite">
      ${t.asking&&i`<p>Asking the agent…</p>`}
      <${O} error=${t.error} />
      ${t.plan&&i`<${Re} plan=${t.plan} />`}
    </div>
    <${x} command="evenkeel plan ${e}" path="${f}/loadbalancers/${e}/plan" method="POST" />
  </section>`}function $s({history:e,id:t}){let n=e.history||[];return i`<h2>History</h2>
    <${O} error=${e.refused} />
    ${e.history&&!n.length&&i`<p class="empty">No revision is known: it was made before revisions were kept.</p>`}
    <ol class="timeline" aria-label="Revisions">
      ${n.map(o=>i`<${ms} key=${o.revision} row=${o} />`)}
    </ol>
    <${x} command="evenkeel loadbalancer history ${t}" path="${f}/loadbalancers/${t}/history" />`}function ms({row:e}){let[t,n]=e.applied_at?["good","●"]:e.problem?["bad","▲"]:["other","◌"],o=e.host&&i`<a href="#/agents/${e.agent_id}">${e.host}</a>, epoch ${e.epoch}`;return i`<li class=${t}>
    <span class="status ${t}" aria-hidden="true">${n}</span>
    <div>
      <p><strong>Revision ${e.revision}</strong> <time>${pe(e.accepted_at)}</time></p>
      <p>Asked for by ${fs(e)}${e.request_id&&i` <code>${e.request_id}</code>`}</p>
      ${e.applied_at?i`<p>Applied by ${o} <time>${pe(e.applied_at)}</time>, after ${e.seconds.toFixed(2)} s</p>`:e.problem?i`<p>Failed${e.host&&i`, tried by ${o}`}: ${e.problem}</p>`:i`<p>Not on the devices yet</p>`}
    </div>
  </li>`}function fs(e){return e.request_id?`${e.user||"an unnamed user (no authentication)"}${e.project_id&&` (project ${j(e.project_id)})`}`:"the controllers (certificate or network)"}var zt=`${f}/moves`,hs="{id}";function tr({live:e}){async function t(){let[r,s,c,d,l]=await Promise.all([H(_(zt)),_(`${f}/shards`),_(`${f}/database`),_(`${f}/environments`),_(`${f}/agents`)]);return{moves:r,database:c.database,common:s.shards.filter(p=>!p.project_id),environments:d.environments,agents:l.agents}}let{data:n,error:o,again:a}=D(t,e.newest);return i`<h1>Maintenance</h1>
    <${O} error=${o} loading=${!n} />
    ${n&&i`<${_s} data=${n} done=${a} /><${vs} groups=${n.common} /><${bs} database=${n.database} done=${a} />`}`}function _s({data:{moves:e,agents:t,environments:n},done:o}){let a=[["Load balancer",s=>i`<a href="#/loadbalancers/${s.load_balancer_id}">${s.name||j(s.load_balancer_id)}</a>`],["Step",s=>i`<${P} value=${s.step} />${s.back?" (back)":""}`],["From",s=>s.source],["To",s=>s.target],["Reason",s=>s.reason],["Gap",s=>s.gap_seconds===null?"":`${s.gap_seconds.toFixed(2)} s`],["Action",s=>s.step!=="done"&&i`<${Qe} move=${s} done=${o} />`]],r=e.moves&&e.moves.map(s=>({...s,id:s.load_balancer_id}));return i`<h2>Moves to other device groups</h2>
    <${O} error=${e.refused} />
    <${G} caption="Moves" columns=${a} rows=${r} empty="None was made yet." />
    ${!e.refused&&i`<${Y} names=${["move_create"]}><${gs} agents=${t} environments=${n} done=${o} /><//>`}
    <${x} command="evenkeel moves" path=${zt} />`}function gs({agents:e,environments:t,done:n}){let o=[...new Set(e.map(r=>r.group_number))].sort((r,s)=>r-s),a=({project_id:r,environment:s,to_group:c},d)=>({move:{project_id:r,environment:s,to_group:Number(c),apply:d}});return!t.length||!o.length?null:i`<${T}
    name="move_create"
    label="Move a project"
    fields=${[{name:"project_id",label:"Project (id)",required:!0},{name:"environment",label:"Environment",options:t.map(r=>[r.name,r.name])},{name:"to_group",label:"To device group",options:o.map(r=>[String(r),String(r)])}]}
    plan=${async r=>r.project_id?Ut((await te(zt,a(r,!1))).move):{problem:"Name the project."}}
    body=${r=>a(r,!0)}
    command=${({project_id:r,environment:s,to_group:c})=>`evenkeel move --project ${r} --environment ${s} --to-group ${c} --yes`}
    watch=${r=>{let s=r.move.loadbalancers.map(c=>c.load_balancer_id);return s.length===1?S.moved(s[0]):S.movedAll(s)}}
    done=${n}
  />`}function vs({groups:e}){let[t,n]=E({asking:!1});async function o(){n({asking:!0});let r=await Promise.all(e.map(s=>Xe(s)));n({asking:!1,rows:r.flatMap(s=>s.rows),problems:r.map(s=>s.problem).filter(Boolean)})}let a=[["What",r=>r.kind],["Id",r=>i`<code>${r.id}</code>`],["Device group",r=>r.place],["Known for",r=>`${r.seconds} s`],["Removed",r=>r.removed_in_seconds===null||r.removed_in_seconds===void 0?"not by itself":`in ${r.removed_in_seconds} s`],["Action",r=>r.kind==="load balancer"&&i`<${T}
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
      ${t.rows&&i`<${G} caption="Orphans" columns=${a} rows=${t.rows} empty="Devices hold nothing that the database does not know, by the last comparison." />`}
    </div>
    <${x} command="evenkeel orphan list" path="${f}/shards/${hs}/orphans" method="POST" />`}function bs({database:e,done:t}){return i`<h2>Database</h2>
    <${ce}
      facts=${[["History",i`<code>${e.history_id}</code>`],["Since",e.begun_at?`${pe(e.begun_at)} UTC`:"the database was created"]]}
    />
    ${e.unknown_histories.map(n=>i`<div class="problem">
        <p>▲ An agent saw history <code>${n.history_id}</code> ${ne(n.noted_at)} ago, which this database never had: nothing is removed from devices.</p>
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
    <${x} command="evenkeel database show" path="${f}/database" />`}var Ne=`${f}/subnets`,Ce=`${f}/networks`,ys=["vlan","vxlan","gre","flat"].map(e=>[e,e]),Yt="Addresses, or ranges like 10.0.0.1-10.0.0.9, one a line";function rr({live:e}){async function t(){let[r,s]=await Promise.all([H(_(Ne)),H(_(Ce))]);return{subnets:r,networks:s}}let{data:n,error:o,again:a}=D(t,e.newest);return i`<h1>Networks</h1>
    <${O} error=${o} loading=${!n} />
    ${n&&i`<${ws} found=${n.subnets} done=${a} /><${As} found=${n.networks} done=${a} />`}`}function ws({found:e,done:t}){let n=[["Name",o=>o.name],["CIDR",o=>i`<code>${o.cidr}</code>`],["VIPs from",o=>`${o.allocation_start} to ${o.allocation_end}`],["Gateway",o=>o.gateway_ip||"none"],["Never VIPs",o=>o.reserved.join(", ")],["For devices",o=>o.device_addresses.join(", ")],["Project",o=>o.project_id||"all"],["Action",o=>i`<div class="actions">
      <${T}
        name="subnet_update"
        label="Change"
        about=${o.name}
        params=${{id:o.id}}
        fields=${[{name:"addresses",label:"Addresses for devices",kind:"lines",help:Yt,initial:o.device_addresses.join(`
`)}]}
        body=${({addresses:a})=>({subnet:{device_addresses:re(a)}})}
        command=${({addresses:a})=>`evenkeel subnet set ${o.name}${re(a).map(r=>` --device-addresses ${r}`).join("")}`}
        watch=${({subnet:{id:a,device_addresses:r}})=>S.listed(Ne,"subnets",{id:a,device_addresses:r},`devices may have ${r.join(", ")||"none"}`)}
        done=${t}
      />
      <${T} name="subnet_delete" label="Delete" about=${o.name} params=${{id:o.id}} command=${()=>`evenkeel subnet delete ${o.name}`} watch=${()=>S.unlisted(Ne,"subnets",{id:o.id})} done=${t} />
    </div>`]];return i`<h2>Address pools</h2>
    <${O} error=${e.refused} />
    <${G} caption="Address pools" columns=${n} rows=${e.subnets} empty="There is none: VIPs have no addresses yet." />
    ${!e.refused&&i`<${Y} names=${["subnet_create"]}>
      <${T}
        name="subnet_create"
        label="Create address pool"
        fields=${[{name:"name",label:"Name",required:!0},{name:"cidr",label:"CIDR",required:!0,hint:"10.0.0.0/24"},{name:"network_id",label:"Network (id)"},{name:"gateway_ip",label:"Gateway"},{name:"allocation_start",label:"First address of VIPs"},{name:"allocation_end",label:"Last address of VIPs"},{name:"reserved",label:"Never VIPs",kind:"lines",help:Yt},{name:"device_addresses",label:"For devices",kind:"lines",help:Yt},{name:"project_id",label:"Only for this project (id)"}]}
        body=${({reserved:o,device_addresses:a,...r})=>({subnet:{...le(r),...ks({reserved:o,device_addresses:a})}})}
        command=${({name:o,cidr:a})=>`evenkeel subnet create ${o} --cidr ${a}`}
        watch=${({subnet:{id:o,allocation_start:a,allocation_end:r}})=>S.listed(Ne,"subnets",{id:o},`VIPs from ${a} to ${r}`)}
        done=${t}
      />
    <//>`}
    <${x} command="evenkeel subnet list" path=${Ne} />`}var ks=e=>Object.fromEntries(Object.entries(e).map(([t,n])=>[t,re(n)]).filter(([,t])=>t.length)),nr=(e={})=>[{name:"name",label:"Name",required:!0,initial:e.name||""},{name:"physical_network",label:"Physical network (flat, vlan)",initial:e.physical_network||""},{name:"segmentation_id",label:"VLAN id, VNI or GRE key",initial:String(e.segmentation_id??"")},{name:"mtu",label:"MTU in bytes (empty: the device's)",initial:String(e.mtu??"")},{name:"vteps",label:"Tunnel end points of hosts, one a line",kind:"lines",initial:(e.vteps||[]).join(`
`)},{name:"shared",label:"Used by several projects",kind:"checkbox",initial:e.shared||!1},{name:"external",label:"An external network",kind:"checkbox",initial:e.external||!1}];function or({segmentation_id:e,mtu:t,vteps:n,shared:o,external:a,...r}){let s=Object.fromEntries(Object.entries(le({segmentation_id:e,mtu:t})).map(([c,d])=>[c,Number(d)]));return{...le(r),...s,vteps:re(n),shared:o,external:a}}function As({found:e,done:t}){let n=[["Name",o=>o.name],["Type",o=>o.network_type],["Segment",o=>o.segmentation_id??""],["Physical network",o=>o.physical_network||""],["MTU",o=>o.mtu??""],["Tunnel end points",o=>o.vteps.join(", ")],["Of",o=>o.from_service?"the network service":o.shared?"several projects":o.project_id||"anybody"],["Action",o=>!o.from_service&&i`<div class="actions">
      <${T}
        name="network_update"
        label="Change"
        about=${o.name}
        params=${{id:o.id}}
        fields=${nr(o)}
        body=${a=>({network:or(a)})}
        command=${({name:a})=>`evenkeel network set ${o.id} --name ${a} …`}
        watch=${a=>S.listed(Ce,"networks",a.network,"it is changed")}
        done=${t}
      />
      <${T} name="network_delete" label="Delete" about=${o.name} params=${{id:o.id}} command=${()=>`evenkeel network delete ${o.id}`} watch=${()=>S.unlisted(Ce,"networks",{id:o.id})} done=${t} />
    </div>`]];return i`<h2>Declared networks</h2>
    <${O} error=${e.refused} />
    <${G} caption="Declared networks" columns=${n} rows=${e.networks} empty="None: devices are attached to no network of the built-in service." />
    ${!e.refused&&i`<${Y} names=${["network_create"]}>
      <${T}
        name="network_create"
        label="Declare network"
        fields=${[{name:"network_type",label:"Type",options:ys},...nr(),{name:"project_id",label:"Only for this project (id)"}]}
        body=${o=>({network:or(o)})}
        command=${({name:o,network_type:a})=>`evenkeel network create ${o} --type ${a} …`}
        watch=${o=>S.listed(Ce,"networks",{id:o.network.id},"it is there")}
        done=${t}
      />
    <//>`}
    <${x} command="evenkeel network list" path=${Ce} />`}var Ss={basic:"password",keystone:"token",gateway:"gateway"};function ar({wrong:e,done:t}){let[n,o]=E("");N(()=>{Bn().then(r=>o(Ss[r]||"none"))},[]);function a(r){r.preventDefault();let s=new FormData(r.target);jn(n==="password"?Hn(s.get("name"),s.get("password")):Wn(s.get("token").trim())),t()}return i`<main class="login">
    <h1><${At} /> Even Keel</h1>
    ${e&&i`<p class="failure" role="alert">${e}</p>`}
    ${n==="gateway"&&i`<p>This controller is behind a gateway, which logs you in. Load this page from the gateway's address.</p>`}
    ${(n==="password"||n==="token")&&i`<form onSubmit=${a}>
      ${n==="password"?i`<label>Name <input name="name" autocomplete="username" autocapitalize="none" spellcheck="false" required /></label>
            <label>Password <input name="password" type="password" autocomplete="current-password" required /></label>`:i`<label>Keystone token <input name="token" type="password" autocomplete="off" required /></label>
            <p class="hint">As <code>openstack token issue -f value -c id</code> prints it.</p>`}
      <button type="submit" class="confirm">Log in</button>
    </form>`}
    <${St} />
  </main>`}function sr(e,t,n){if(e.status===403&&n){let o=n.roles.length?`has only ${n.roles.length===1?"the role":"the roles"} ${n.roles.join(", ")}`:"has no role";return`${n.user} is logged in, but ${o}, with which nothing here may be read.${e.roles.length?` It takes one of ${e.roles.join(", ")}.`:""}`}return e.status!==401?e.message:t==="password"?"The name or the password is wrong.":t==="token"?"Keystone does not accept this token: it is mistyped or has expired.":""}var xs=`${f}/activity`,ir=[1,6,24],Os=360,Es=[{title:"API requests",unit:"/s",figures:[["requests","answered"],["failed_requests","failed"]]},{title:"Time to ACTIVE",unit:"s",figures:[["time_to_active_seconds","mean"]],sparse:"no change in this time"},{title:"Traffic",unit:"B/s",figures:[["bytes_in","in"],["bytes_out","out"]]},{title:"Connections",unit:"/s",figures:[["connections","new"]]}];function cr({query:e}){let t=ir.includes(Number(e.hours))?Number(e.hours):1,n=`${xs}?hours=${t}`,{data:o,error:a,at:r}=D(async()=>({...(await _(n)).activity,hours:t}),0,[n]);return i`<section aria-labelledby="activity">
    <div class="heading">
      <h2 id="activity">API requests, time to ACTIVE and traffic</h2>
      <nav class="spans" aria-label="Span">
        ${ir.map(s=>i`<a href=${V("",{hours:s===1?"":String(s)})} aria-current=${s===t?"true":null}>${s} h</a>`)}
      </nav>
    </div>
    <${O} error=${a} loading=${!o} />
    ${o&&i`<${Ts} data=${o} to=${r} />`}
    <${x} command="evenkeel activity" path=${n} />
  </section>`}function Ts({data:e,to:t}){let{requests:n,time_to_active:o,points:a,hours:r}=e,s=e.interval*1e3*Math.max(1,Math.ceil(r*3600/e.interval/Os));return i`<p class="live">
      This controller process since ${pe(e.since)} UTC: ${ee(n.count)} API requests, ${ee(n.failed)} failed,
      ${n.mean_seconds===null?"":` ${Math.round(n.mean_seconds*1e3)} ms on average;`}
      ${o.count?` ${ee(o.count)} ${o.count===1?"change":"changes"} became ACTIVE by reports to it, half of them within ${ee(o.median_seconds)} s, 95 % within ${ee(o.p95_seconds)} s.`:" no change became ACTIVE by a report to it."}
      ${" "}Other controllers count their own. Traffic is that of all load balancers.
    </p>
    ${a.length?"":i`<p class="empty">${e.reason}</p>`}
    <div class="bigs">${Es.map(c=>i`<${Xo} key=${c.title} ...${c} points=${a} hours=${r} stepMs=${s} to=${t} />`)}</div>`}function pr({live:e,query:t}){let{data:n,error:o}=D(async()=>(await _(`${f}/status`)).status,e.newest);return i`<h1>Overview</h1>
    <${O} error=${o} loading=${!n} />
    ${n&&i`<${Rs} status=${n} /><${Ds} problems=${n.problems} /><${Cs} status=${n} />`}
    <${x} command="evenkeel status" path="${f}/status" />
    <${cr} query=${t} />
    <h2>Latest events</h2>
    <${It} live=${e} most=${8} />
    <${x} command="evenkeel events" path="${f}/events?newest=true" />`}var Ps=new Set(["ONLINE","NO_MONITOR"]),$r=e=>Object.values(e).reduce((t,n)=>t+n,0),mr=e=>e.load_balancers_operating??{};function Rs({status:e}){if(e.problems.length)return null;let t=mr(e),n=Object.entries(t).filter(([s,c])=>c&&!Ps.has(s)),o=$r(t);if(!n.length)return i`<p class="verdict good"><span aria-hidden="true">●</span> Nothing is wrong.</p>`;let a=V("loadbalancers",{operating_status:n.map(([s])=>s).join(",")}),r=n.reduce((s,[,c])=>s+c,0);return i`<p class="verdict unsure">
    <span aria-hidden="true">◆</span> No fault of the system is known, but <a href=${a}>${r.toLocaleString("en")} of ${o.toLocaleString("en")} ${o===1?"load balancer is":"load balancers are"} not ONLINE</a>:
    without listeners or healthy members, disabled, held, just made, or not observed by an agent.
  </p>`}var lr={agent:e=>`#/agents/${e}`,environment:()=>"#/environments",device_group:()=>"#/devices",load_balancer:e=>`#/loadbalancers/${e}`,load_balancers:e=>`#/loadbalancers?${e}`,shards:()=>"#/topology",certificates:e=>`#/certificates?${e}`,controllers:()=>"#/controllers",devices:()=>"#/devices"};function Ds({problems:e}){return e.length?i`<section class="problems" aria-label="Problems">
    <h2>${e.length} ${e.length===1?"problem":"problems"}</h2>
    <ul>
      ${e.map(t=>i`<${Ns} key=${t.kind+t.text} problem=${t} />`)}
    </ul>
  </section>`:null}function Ns({problem:{text:e,remedy:t,objects:n=[],commands:o=[]}}){return i`<li class="problem">
    <h3><span aria-hidden="true">▲</span> ${e}</h3>
    ${n.length>0&&i`<p class="about">See ${n.map((a,r)=>i`${r>0&&", "}<a href=${lr[a.kind]?lr[a.kind](a.id):"#/"}>${a.name}</a>`)}</p>`}
    ${o.length?i`<ul class="commands">
          ${o.map(a=>i`<li>${(a.host||a.condition)&&i`<span class="host">${a.host?`on ${a.host}`:a.condition}</span>`} <code>${a.command}</code> <${Ee} text=${a.command} about=${a.command} /></li>`)}
        </ul>`:i`<p class="about">What helps: ${t}</p>`}
  </li>`}function dr({title:e,counts:t,filter:n}){let o=Object.entries(t).filter(([,r])=>r).sort(([r],[s])=>ur.indexOf(xe(r))-ur.indexOf(xe(s))),a=$r(t);return i`<section class="panel" aria-label=${e}>
    <h2>${e}</h2>
    <p class="value"><a href="#/loadbalancers">${a.toLocaleString("en")}</a> <span class="dim">${a===1?"load balancer":"load balancers"}</span></p>
    <div class="bar" aria-hidden="true">${o.map(([r,s])=>i`<span class=${xe(r)} style=${{flexGrow:s}}></span>`)}</div>
    <ul>
      ${o.map(([r,s])=>i`<li><a href=${V("loadbalancers",{[n]:r})}><${P} value=${r} /> <span class="count">${s.toLocaleString("en")}</span></a></li>`)}
    </ul>
  </section>`}var ur=["bad","unsure","other","good"];function Cs({status:e}){let{agents:t,shards:n}=e,o=e.message_broker==="connected",a=[["Agents up",`${t.up} of ${t.up+t.down}`,t.down>0&&i`<${P} value="silent" /> or stopped: ${t.down}`,"#/agents"],["Shards",n.total,n.unserved>0&&i`<${P} value="unserved" /> ${n.unserved}`,"#/topology"],["Oldest PENDING",`${e.oldest_pending_seconds} s`,null,V("loadbalancers",{provisioning_status:"PENDING_CREATE,PENDING_UPDATE,PENDING_DELETE"})],["Message broker",o?"connected":"away",!o&&i`<${P} value="out of reach" />`,"#/controllers"]];return i`<div class="panels">
      <${dr} title="Operating: as agents observe it" counts=${mr(e)} filter="operating_status" />
      <${dr} title="Provisioning: what devices have" counts=${e.load_balancers} filter="provisioning_status" />
    </div>
    <ul class="cards">
      ${a.map(([r,s,c,d])=>i`<li><a href=${d}><span class="title">${r}</span> <span class="value">${s}</span></a> ${c&&i`<p class="more">${c}</p>`}</li>`)}
    </ul>`}var Ms=e=>e<640;function fr(e,t){let n=Math.floor(t/6.7);return e.length>n?`${e.slice(0,n-1)}…`:e}var hr=(e,t)=>e.find(n=>n.length*6.7<=t)||e[e.length-1],Jt=(e,t,n)=>Math.round(Math.max(e,Math.min(t,n)));function js(e,t){let n=e.map(r=>({agent:r,lines:t.filter(s=>s.agent===r.id)})),o=new Set(e.map(r=>r.id)),a=t.filter(r=>!o.has(r.agent));return a.length?[...n,{agent:null,lines:a}]:n}function _r(e,t){return(Ms(t)?Ls:Is)({...e,blocks:js(e.agents,e.lines)},t)}function Is({controllers:e,devices:t,blocks:n},o){let a={controller:Jt(110,o*.14,160),agent:Jt(130,o*.17,200),device:Jt(170,o*.22,270)},r={bus:6+a.controller+24};r.agent=r.bus+26+24,r.device=o-a.device-12;let s=n.map(h=>Math.max(28,h.lines.length*26)+10),c=Math.max(s.reduce((h,y)=>h+y,0),e.length*38,t.length*38+10,100),d=c+12,l=[],p=[],u=[],$=(h,y,R,k)=>{let M=(d-h.length*38+10)/2;return h.map(L=>{let C={kind:y,object:L,x:R,y:M,width:k,height:28};return M+=38,l.push(C),C})};for(let h of $(e,"controller",6,a.controller))p.push({d:`M${h.x+h.width} ${h.y+28/2} H${r.bus}`,cut:!h.object.alive});l.push({kind:"bus",x:r.bus,y:6,width:26,height:d-12,upright:!0});let m=(c-s.reduce((h,y)=>h+y,0))/n.length,g=r.agent+a.agent,v=r.device-6,w=6;return n.forEach((h,y)=>{let R=s[y]+m,k=w+R/2;h.agent&&(l.push({kind:"agent",object:h.agent,x:r.agent,y:k-28/2,width:a.agent,height:28}),p.push({d:`M${r.bus+26} ${k} H${r.agent}`,cut:!h.agent.alive})),h.lines.forEach((M,L)=>{let C=k+(L-(h.lines.length-1)/2)*26,W=g+56;u.push({line:M,d:h.agent?`M${g} ${k} C${g+28} ${k} ${g+20} ${C} ${g+48} ${C} H${v}`:`M${W-8} ${C} H${v}`,x:W,y:C+4,text:hr(M.texts,v-W-16)})}),w+=R}),$(t,"device",r.device,a.device),{height:d,boxes:l,links:p,lines:u,frame:{x:v,y:6,width:o-v-1,height:d-12}}}function Ls({controllers:e,devices:t,blocks:n},o){let a=[],r=[],s=[],c=(o-12-10)/2,l=6+Math.ceil(e.length/2)*38+6;e.forEach((v,w)=>{let h={kind:"controller",object:v,x:6+w%2*(c+10),y:6+Math.floor(w/2)*38,width:c,height:28};a.push(h),r.push({d:`M${h.x+c/2} ${h.y+28} V${l}`,cut:!v.alive})}),a.push({kind:"bus",x:6,y:l,width:o-12,height:26});let p=o-22,u=28,$=l+26+10,m=[];for(let v of n){v.agent&&(a.push({kind:"agent",object:v.agent,x:u,y:$,width:p-u-34,height:28}),r.push({d:`M14 ${l+26} V${$+28/2} H${u}`,cut:!v.agent.alive}),$+=28);for(let w of v.lines){let h=$+13+2,y=v.agent?`M${u+12} ${$-(v.lines.indexOf(w)?26/2-2:0)} V${h}`:`M${u+12} ${h}`;m.push({line:w,from:`${y} H${p}`,x:u+26,y:h+4,text:hr(w.texts,p-u-40)}),$+=26}$+=10}let g={x:6,y:$,width:o-12,height:t.length*38+10};for(let{from:v,...w}of m)s.push({...w,d:`${v} V${g.y}`});return t.forEach((v,w)=>a.push({kind:"device",object:v,x:12,y:$+10+w*38,width:o-24,height:28})),{height:$+g.height+6,boxes:a,links:r,lines:s,frame:g}}var Us=2e4,Zt=400,en="no agent",Fs=async()=>(await _(`${f}/topology`)).topology;function vr({live:e,query:t}){let{data:n,error:o}=D(Fs,e.newest);return i`<h1>Topology</h1>
    <p>A line is a shard, one tenant on a device group: it goes from the agent that may write to the devices, with its epoch. At a takeover the line moves and the epoch grows.</p>
    <ul class="key">
      <li><span class="owner"></span> may write, for a tenant</li>
      <li><span class="owner common"></span> may write what tenants share</li>
      <li><span></span> connected</li>
      <li><span class="cut"></span> away</li>
    </ul>
    <${O} error=${o} loading=${!n} />
    ${n&&!n.groups.length&&i`<p class="empty">No agent has registered yet.</p>`}
    ${n&&n.groups.map(a=>i`<${qs} key=${br(a)} group=${a} topology=${n} opened=${Bs(t)} turn=${e.newest} events=${e.events} />`)}
    <${x} command="evenkeel shard list" path="${f}/topology" />`}var br=e=>`${e.environment}/${e.group_number}`,Bs=e=>(e.open||"").split(",").filter(Boolean),Me=e=>!e.project_id,Qt=e=>e.lines.length>0&&e.shards.every(Me);async function Hs(e){let n=(await Promise.all(e.agents.map(o=>_(`${f}/shards?agent_id=${o.id}`)))).flatMap(o=>o.shards);return[...new Map(n.map(o=>[o.id,o])).values()]}function Ws(e,{environment:t,group_number:n}){return e.map(o=>{let a=o.project_id||"common",r=`epoch ${o.epoch}`;return{key:o.id,agent:o.acting_agent_id,project:o.project_id,name:Me(o)?"the common shard":j(a),common:Me(o),epoch:o.epoch,texts:[`${a} · ${r}`,`${j(a)} · ${r}`],told:`${Me(o)?"What tenants share":`Project ${a}`}: ${r}`,link:Me(o)?o.acting_agent_id&&`#/agents/${o.acting_agent_id}`:V("loadbalancers",{environment:t,group_number:String(n),project_id:o.project_id}),served:o.served}})}function Vs(e){let t=new Set(e.agents.filter(n=>n.alive).map(n=>n.id));return e.lines.map(n=>{let o=`${n.shards.toLocaleString("en")} ${n.shards===1?"tenant":"tenants"}`;return{key:n.agent_id||"none",agent:n.agent_id,texts:[`${o} · epochs to ${n.newest_epoch}`,o],told:`${o}, epochs to ${n.newest_epoch}`,link:n.agent_id&&`#/agents/${n.agent_id}`,served:t.has(n.agent_id)}})}function Gs(e,t){let n=new Map(t.map((a,r)=>[a.id,r])),o=a=>n.get(a.agent)??n.size;return e.sort((a,r)=>o(a)-o(r)||+!!r.common-+!!a.common||a.key.localeCompare(r.key))}var gr={shard_taken_over:": taken over, because its agent is gone",shard_handed_over:": handed over as planned"};function Ks(e,t){let n=e.project?`project ${e.project} `:"common shard ",o=t.find(a=>gr[a.kind]&&a.text.includes(n)&&a.text.endsWith(`, epoch ${e.epoch}`));return o?gr[o.kind]:""}function Xs(e,t,n){let o=J(new Map),[a,r]=E([]),s=t.map(c=>`${c.key} ${c.agent} ${c.epoch}`).join(";");return N(()=>{let c=o.current,l=t.filter(p=>p.name&&p.agent&&c.has(p.key)&&c.get(p.key)!==p.agent).map(p=>`${p.name} moved from ${it(e.agents,c.get(p.key))} to ${it(e.agents,p.agent)}, epoch ${p.epoch}${Ks(p,n)}`);o.current=new Map(t.map(p=>[p.key,p.agent||c.get(p.key)])),l.length&&r(l)},[s]),N(()=>{if(!a.length)return;let c=setTimeout(()=>r([]),Us);return()=>clearTimeout(c)},[a]),a}function qs({group:e,topology:t,opened:n,turn:o,events:a}){let r=br(e),s=Qt(e)&&n.includes(r),{data:c,error:d}=D(async()=>s?Hs(e):null,o,[s]),l=s&&c?c:e.shards,p=Gs([...Ws(l,e),...Qt(e)&&l===e.shards?Vs(e):[]],e.agents),u=p.slice(0,Zt),$=Xs(e,p,a),[m,g]=tt(),[v,w]=E(null),{agents:h}=e,y=Mt(e.devices),{controllers:R}=t,k=_r({controllers:R,agents:h,devices:y,lines:u},g),M=e.lines.reduce((A,q)=>A+q.shards,0),L=u.map(A=>`${it(h,A.agent)}: ${A.texts[0]}`).join("; "),C=A=>v!==null&&(v.key===A.key||v.agent===A.agent),W=A=>({onPointerEnter:()=>w(A),onPointerLeave:()=>w(null),onFocus:()=>w(A),onBlur:()=>w(null)}),Z=A=>v===null?"":C(A)?"lit":"faded";return i`<figure class="topology" ref=${m}>
    <figcaption>
      <h2>${r}</h2>
      ${Qt(e)&&i`<a class="fold" aria-expanded=${String(s)} role="button" href=${V("topology",{open:(s?n.filter(A=>A!==r):[...n,r]).join(",")})}>${s?"Fold":`Show all ${M.toLocaleString("en")} tenants`}</a>`}
      <p class="read">${v?v.told:""}</p>
      ${e.halted&&i`<p class="failure">Halted: ${e.halted}. No shard moves.</p>`}
      <p class="moves" role="status">${$.join("; ")}</p>
    </figcaption>
    <${O} error=${d} />
    <svg viewBox="0 0 ${g} ${k.height}" width=${g} height=${k.height} role="group" aria-label="Who may write to the devices of ${r}: ${L||"no shards"}">
      <rect class="frame" rx="8" ...${k.frame} />
      ${k.links.map(A=>i`<path class=${A.cut?"link cut":"link"} d=${A.d} />`)}
      ${k.lines.map(({line:A,d:q})=>i`<path key=${A.key} class="owner ${A.common?"common":""} ${A.served?"":"cut"} ${Z(A)}" d=${q} />`)}
      ${k.lines.map(({line:A,x:q,y:Q,text:ye})=>{let fe=it(h,A.agent),b=`${A.told}, ${fe} ${A.served?"may write":"is away"}`;return i`<${zs} key=${A.key} line=${A} x=${q} y=${Q} text=${fe===en?`${ye} · ${en}`:ye} host=${fe} look=${Z(A)} pointing=${W({key:A.key,told:b})} />`})}
      ${k.boxes.map(A=>i`<${Js} box=${A} topology=${t} pointing=${A.kind==="agent"?W({agent:A.object.id,told:`${A.object.host}: ${A.object.acting_shards} shards`}):{}} />`)}
    </svg>
    ${p.length>Zt&&i`<p>${p.length-Zt} more: <code>evenkeel shard list --environment ${e.environment}</code></p>`}
  </figure>`}function zs({line:e,x:t,y:n,text:o,host:a,look:r,pointing:s}){let c=i`<text class="shard ${e.common?"common":"tenant"} ${r}" data-agent=${a} style=${{transform:`translate(${t}px, ${n}px)`}}><title>${e.told}</title>${o}</text>`;return e.link?i`<a href=${e.link} ...${s}>${c}</a>`:i`<g ...${s}>${c}</g>`}var Ys={controller:()=>"#/controllers",agent:e=>`#/agents/${e.id}`,device:()=>"#/devices"};function Js({box:e,topology:t,pointing:n}){let[o,a]=Zs(e,t),r=Ys[e.kind],s=i`<g class="box ${o}" transform="translate(${e.x} ${e.y})">
    <title>${a}</title>
    <rect width=${e.width} height=${e.height} rx="6" />
    ${e.upright?i`<text text-anchor="middle" transform="translate(${e.width/2+4} ${e.height/2}) rotate(-90)">${a}</text>`:i`<text x="10" y=${e.height/2+4}>${fr(a,e.width-18)}</text>`}
  </g>`;return r?i`<a href=${r(e.object)} ...${n}>${s}</a>`:s}function Zs({kind:e,object:t},n){return e==="bus"?[n.message_broker==="connected"?"up":"silent","message bus"]:e==="controller"?[t.alive?"up":"silent",Qs(t.url)]:e==="agent"?[t.state,`${t.host} · ${t.state}`]:[t.reachable?"up":"silent",`${t.own_name||t.name} · ${t.reachable?t.failover_state||"reached":"out of reach"}`]}function Qs(e){let{hostname:t,port:n}=new URL(e);return["127.0.0.1","localhost","[::1]"].includes(t)?`controller :${n}`:`${t}:${n}`}function it(e,t){let n=e.find(o=>o.id===t);return n?n.host:en}var ct={"":["Overview",pr],topology:["Topology",vr],loadbalancers:["Load balancers",po],agents:["Agents",Oo],devices:["Devices",No],controllers:["Controllers",Co],environments:["Environments",Mo],certificates:["Certificates",Do],networks:["Networks",rr],maintenance:["Maintenance",tr],events:["Events",Lo]},ei=Object.fromEntries(Object.entries(ct).map(([e,[t]])=>[e,t])),ti=[`${f}/events?limit=1&newest=true`,`${f}/activity`,`${oe}/loadbalancers?limit=1&fields=id`],ni=2e3;async function oi(){let e=null;try{e=(await _(`${f}/caller`)).caller}catch(n){if(n.status!==404)return[e,n]}let t=null;for(let n of ti)try{return await _(n),[e,null]}catch(o){if(t=o,o.status!==403)break}return[e,t]}function ri(){let[e,t]=E({state:"asking"});async function n(){let a=Fn(),[r,s]=await oi();return s?[401,403].includes(s.status)?o(sr(s,a,r)):t({state:"away",reason:s.message}):t({state:"in",caller:r})}function o(a){In(),t({state:"out",reason:a})}return N(()=>{n()},[]),N(()=>{if(e.state!=="away")return;let a=setTimeout(n,ni);return()=>clearTimeout(a)},[e]),e.state==="asking"?i`<main><p>Loading…</p></main>`:e.state==="out"?i`<${ar} wrong=${e.reason} done=${n} />`:e.state==="away"?i`<main><p class="failure" role="alert">${e.reason}</p></main>`:i`<${ai} caller=${e.caller} leave=${o} />`}function ai({caller:e,leave:t}){let n=to(),{parts:[o,a,r,s,c],query:d}=oo(),l=J(null),[p,u]=ct[o]||ct[""];N(()=>{document.title=`${p} · Even Keel`,l.current&&document.activeElement!==document.body&&l.current.focus()},[o,a,s]),N(()=>{n.error&&n.error.status===401&&t("The login is not accepted any more: log in again.")},[n.error]);function $(){return o==="agents"&&a?i`<${To} key=${a} id=${a} live=${n} />`:o!=="loadbalancers"||!a?i`<${u} key=${o} live=${n} query=${d} />`:r?i`<${Go} key=${s} root=${a} kind=${r} id=${s} parent=${c} live=${n} />`:i`<${Qo} key=${a} id=${a} live=${n} />`}return i`<a class="skip" href="#main" onClick=${m=>(m.preventDefault(),l.current.focus())}>Skip to content</a>
    <${Qn} views=${ei} current=${ct[o]?o:""} caller=${e} leave=${t} />
    <${zn} />
    ${n.error&&n.error.status!==401&&n.error.status!==403&&i`<p class="failure banner" role="alert">${n.error.message}: trying again</p>`}
    <main id="main" tabindex="-1" ref=${l}>
      <${bo}>${$()}<//>
    </main>
    <${vo} />`}_t(i`<${ri} />`,document.getElementById("app"));
