// Package servertest tests tasks on a real Temporal server. It is a module of its own, because the
// server takes minutes to fetch and to build.
package servertest
