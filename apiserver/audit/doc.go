// Package audit takes the secrets out of users' calls before the audit log keeps them.
package audit
