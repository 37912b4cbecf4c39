//go:build linux

package realtest

import (
	"net/http"
	"testing"
)

// updateBox holds what a client was told about its resources until the test looks. A client that is told again and
// again is not held up: what does not fit is dropped.
type updateBox chan string

func newUpdateBox() updateBox { return make(updateBox, 16) }

func (b updateBox) put(uri string) {
	select {
	case b <- uri:
	default:
	}
}

// ownHTTP is an HTTP client with connections of its own, which end with the test.
func ownHTTP(t *testing.T) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}
