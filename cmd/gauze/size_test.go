package main

import "testing"

func TestSizes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1": "1", "1000": "1000", "1048576": "1MiB", "64MiB": "64MiB", "64MB": "64MiB", "64m": "64MiB", "2g": "2GiB", "1024k": "1MiB", "3kB": "3KiB",
	} {
		var s size
		if err := s.Set(text); err != nil || s.String() != want {
			t.Errorf("%s: %v, %v, want %s", text, s, err, want)
		}
	}
	for _, text := range []string{"", "0", "-1", "MiB", "1.5g", "1x", "1 MiB", "1ib2", "9999999999g", "99999999999999999999"} {
		var s size
		if err := s.Set(text); err == nil {
			t.Errorf("%q: %v", text, s)
		}
	}
}
