package windows

import "testing"

func TestMirrorIsTheMainArchive(t *testing.T) {
	targets := "http://mirror.example/debian-security/\nhttp://mirror.example/node/\nhttps://mirror.example/debian/\nhttps://other.example/debian\n"
	if uri, ok := debianMirror(targets); !ok || uri != "https://mirror.example/debian/" {
		t.Errorf("mirror %q, %v", uri, ok)
	}
	if uri, ok := debianMirror("http://mirror.example/ubuntu/\n"); ok {
		t.Errorf("%q is not a Debian mirror", uri)
	}
}
