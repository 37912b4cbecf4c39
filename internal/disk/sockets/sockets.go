// Package sockets has what processes of one user need to talk to each other on one machine: a
// directory of their own, a socket in it, and proofs that both sides know a token, which is never
// sent.
//
//	sockets.go  OwnDir, Listen, IsLocal, Proof, IsRefused, IsClosed, Space
//	peer_*.go   CheckPeer: whether the other end belongs to this user
package sockets

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
)

// maxPath is how many bytes the path of a socket may have; systems allow 104 to 108.
const maxPath = 100

// OwnDir creates a directory that only this user may enter. Who can read a token in it can act for
// the user.
func OwnDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if err := IsDir(dir, info); err != nil {
		return err
	}
	if info.Mode().Perm() == 0o700 {
		return nil
	}
	return os.Chmod(dir, 0o700) // fails if it belongs to a different user
}

// IsDir rejects a symbolic link, which can lead to a directory of a different user.
func IsDir(dir string, info fs.FileInfo) error {
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory (symbolic links are not followed)", dir)
	}
	return nil
}

// Listen opens a socket in the file system, which only its user can reach, or one on the loopback
// interface where that is not possible. Either requires a token.
func Listen(path string) (net.Listener, error) {
	if len(path) <= maxPath {
		if l, err := net.Listen("unix", path); err == nil {
			if os.Chmod(path, 0o600) == nil {
				return l, nil
			}
			l.Close()
		}
	}
	return net.Listen("tcp", "127.0.0.1:0")
}

// IsLocal reports whether an address is one on which Listen may listen for the socket with this file
// name. Others, such as those of other machines, must not be connected to.
func IsLocal(network, address, name string) bool {
	switch network {
	case "unix":
		return filepath.Base(address) == name
	case "tcp":
		at, err := netip.ParseAddrPort(address)
		return err == nil && at.Addr() == netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return false
}

// Proof shows that its sender knows the token. The token itself is never sent: a stale address may
// belong to a different program by now.
func Proof(token string, words ...string) []byte {
	h := hmac.New(sha256.New, []byte(token))
	for _, w := range words {
		fmt.Fprintf(h, "%d:%s", len(w), w)
	}
	return h.Sum(nil)
}

// What Windows returns for ECONNABORTED, ECONNRESET and ECONNREFUSED: its constants of these names are
// different numbers.
const (
	wsaAborted = syscall.Errno(10053)
	wsaReset   = syscall.Errno(10054)
	wsaRefused = syscall.Errno(10061)
)

// IsRefused reports whether nothing listens at an address.
func IsRefused(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, wsaRefused) || errors.Is(err, fs.ErrNotExist)
}

// IsClosed reports whether the other side has closed a connection.
func IsClosed(err error) bool {
	for _, closed := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE, wsaAborted, wsaReset} {
		if errors.Is(err, closed) {
			return true
		}
	}
	return false
}

// Space identifies what gives numbers of processes and addresses their meaning on a machine: the
// namespaces of this process on Linux, empty elsewhere.
func Space() string {
	pids, _ := os.Readlink("/proc/self/ns/pid")
	net, _ := os.Readlink("/proc/self/ns/net")
	return pids + net
}
