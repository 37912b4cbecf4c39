// Package plaintext makes text fit to be shown: cleaned of control characters, wrapped, shortened,
// counted, and compared with what a user may have meant.
package plaintext
