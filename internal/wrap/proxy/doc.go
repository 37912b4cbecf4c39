// Package proxy puts a session together: the kernel, which carries the calls of one client to one server, and
// the stages that take part in them, in their order (stages.go).
package proxy
