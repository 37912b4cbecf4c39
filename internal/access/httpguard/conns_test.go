package httpguard

import (
	"net"
	"testing"
)

func TestAPlaceIsGivenBack(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	one := &limitedListener{Listener: l, places: make(chan struct{}, 1), closed: make(chan struct{})}
	defer one.Close()
	for range 3 {
		go net.Dial("tcp", l.Addr().String())
		conn, err := one.Accept()
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
		conn.Close() // twice, as net/http may
	}
	if len(one.places) != 0 {
		t.Errorf("%d places are taken", len(one.places))
	}
}
