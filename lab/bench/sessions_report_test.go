package main

import "testing"

func TestSceneLimits(t *testing.T) {
	good := sceneResult{scene: scene{Clients: 1000}, Empty: memory{RSS: 15_000}, Full: memory{RSS: 75_000}, Change: 3}
	for name, test := range map[string]struct {
		spoil func(*sceneResult)
		pass  bool
	}{
		"all is well":     {func(*sceneResult) {}, true},
		"a fat session":   {func(r *sceneResult) { r.Full.RSS = 80_000 }, false},
		"a bad neighbour": {func(r *sceneResult) { r.Change = 20 }, false},
		"a loud machine":  {func(r *sceneResult) { r.Noise = -30 }, false},
	} {
		r := good
		test.spoil(&r)
		if r.judge(); r.Pass != test.pass {
			t.Errorf("%s: pass is %v: %q", name, r.Pass, r.Problems)
		}
	}
}
