//go:build linux

package realtest

import "testing"

func TestNoisyServerIsUnderstood(t *testing.T) {
	for _, p := range half(t, oneOfEach(t, mostPairs())) {
		t.Run(p.name(), func(t *testing.T) {
			t.Parallel()
			s := open(t, p, setup{launch: noisy})
			tools := s.list()
			for range 10 {
				s.wantRead()
			}
			s.killInnermost() // the launcher lives on for a moment, and its pipe with it
			s.wantRead()
			s.wantSameTools(tools)
		})
	}
}
