// Package launch describes how a server is launched or reached: a command with its environment, or
// a URL with its headers. A Spec is a plain value; nothing in this package starts anything.
package launch
