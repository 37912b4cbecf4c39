package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

func TestSharesMemory(t *testing.T) {
	for source, want := range map[string]bool{
		"func f() { go g() }":                                   true,
		"func f() { var w sync.WaitGroup; w.Go(g) }":            true,
		"type x struct { mu sync.Mutex }":                       true,
		"var n atomic.Int64":                                    true,
		"var f = sync.OnceValue(func() int { return 1 })":       false,
		"func f(s http.Server) error { return s.Goodbye(1) }":   false,
		"// go func() is only mentioned\nvar text = \"go f()\"": false,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "x.go"), []byte("package x\n\n"+source+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := sharesMemory(dir, []string{"x.go"}); err != nil || got != want {
			t.Errorf("%s: %v, %v", source, got, err)
		}
	}
}

// An exception stands for a package that is there, and test helpers are exceptions together.
func TestExceptionsFromTheRaceDetector(t *testing.T) {
	for name := range unraced {
		if info, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(name))); err != nil || !info.IsDir() {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Setenv(sample.EnvAll, "")
	for pkg, want := range map[string]bool{"internal/disk/journal": true, "internal/testonly/census": true, "internal/mend/repair": true, "internal/mend/repair/x": false, "internal/wrap/kernel": false} {
		if isUnraced(pkg) != want {
			t.Errorf("%s: want %v", pkg, want)
		}
	}
}

// By default the race detector does not watch the own tests of some packages, and in a run of everything it does, with small
// samples. Without it they always run.
func TestARunOfEverythingRacesMore(t *testing.T) {
	t.Chdir("../..")
	racedWith := func(all string) (tests []goTest) {
		t.Setenv(sample.EnvAll, all)
		tests, err := raced(t.Context())
		_, plain, errPlain := split(t.Context())
		if err != nil || errPlain != nil {
			t.Fatal(err, errPlain)
		}
		for pkg := range racedWithAll {
			if !slices.Contains(plain, module+pkg) {
				t.Errorf("%s=%s: the tests of %s do not run without the race detector", sample.EnvAll, all, pkg)
			}
		}
		return tests
	}
	byDefault, everything := racedWith(""), racedWith("1")
	if len(byDefault) != 1 || len(everything) != 2 || !slices.Equal(byDefault[0].pkgs, everything[0].pkgs) || !slices.Contains(everything[1].env, sample.EnvAll+"=") {
		t.Fatalf("by default %v, in a run of everything %v", byDefault, everything)
	}
	for pkg := range racedWithAll {
		if slices.Contains(byDefault[0].pkgs, module+pkg) || !slices.Contains(everything[1].pkgs, module+pkg) {
			t.Errorf("%s: the race detector must watch its tests in a run of everything, and only there", pkg)
		}
	}
}
