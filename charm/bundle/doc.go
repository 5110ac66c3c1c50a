// Package bundle reads bundles. A bundle is a YAML file that describes services to deploy together,
// their machines and their relations:
//
//	series: jammy
//	applications:
//	  web:
//	    charm: ./web
//	    num_units: 2
//	    to: ["0", "store/0"]
//	    options: {title: Hello}
//	  store: {charm: ./store, num_units: 1, to: [new]}
//	machines:
//	  "0": {constraints: mem=2G}
//	relations:
//	- [web:store, store:db]
//
// saas and offers say which offers of other models it uses, and what it offers to them:
//
//	saas:
//	  db: {url: bob/shop.mysql}
//	applications:
//	  web:
//	    offers:
//	      site: {endpoints: [site], acl: {bob: consume}}
//
// An option or annotation can be the content of a file, include-file://PATH, or have it in base64, include-base64://PATH. What
// users have set is never one in a bundle that we export: there it is tagged as a text, !!str.
//
// Read merges a bundle with its overlays; Verify checks the result. Both report all errors at once,
// in an Errors.
package bundle
