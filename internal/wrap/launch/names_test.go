package launch

import "testing"

func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "127.0.0.1": true, "127.8.8.8": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, "0.0.0.0": false, "10.0.0.1": false, "localhost.example.com": false, "127.0.0.1.example.com": false,
	} {
		if got := IsLoopback(host); got != want {
			t.Errorf("IsLoopback(%q) = %v", host, got)
		}
	}
}

func TestDownloads(t *testing.T) {
	for command, want := range map[string]bool{
		"npx": true, "/usr/bin/uvx": true, "NPX.CMD": true, "docker.exe": true, "bun": true, "go": true, "sh": true,
		"node": false, "python3": false, "/opt/server": false,
	} {
		if got := (Spec{Command: command}).Downloads(); got != want {
			t.Errorf("%q downloads: %v", command, got)
		}
	}
}
