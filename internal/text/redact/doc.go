// Package redact removes secrets from text that is shown, logged or sent: by their shape
// (redact.go, random.go, privatekey.go), by the name before them (named.go), by their place on a
// command line (words.go) or in a URL (address.go), and by known value (secrets.go). Quote makes
// untrusted text safe to show: cleaned, redacted, shortened.
package redact
