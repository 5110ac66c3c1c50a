// Package proxyupdater configures a machine's proxies and apt mirror from the model's settings. It is for
// machines that have an operating system of their own.
package proxyupdater
