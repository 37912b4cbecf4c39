//go:build !linux && !darwin

package sockets

import "net"

// CheckPeer returns nil: this system does not say whose socket the other end is, and the token has to
// suffice.
func CheckPeer(net.Conn) error { return nil }
