// Package proxyupdater keeps the files of a machine by which its programs find proxies, and its packages'
// mirror, as the model's settings say. It is for machines that have an operating system of their own.
package proxyupdater
