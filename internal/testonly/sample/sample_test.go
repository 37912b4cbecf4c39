package sample

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTheSeedMovesWithWhatIsTested(t *testing.T) {
	t.Setenv(EnvSeed, "")
	program := filepath.Join(t.TempDir(), "program")
	seedWith := func(content string) uint64 {
		if err := os.WriteFile(program, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return Seed(t, program)
	}
	first := seedWith("one")
	if again, other := seedWith("one"), seedWith("two"); again != first || other == first {
		t.Errorf("%x, again %x, of another program %x", first, again, other)
	}
	if alone := Seed(t); alone == 0 || alone == first || alone != Seed(t) {
		t.Errorf("%x without a program, %x with one", alone, first)
	}
}

func TestTheEnvironmentChooses(t *testing.T) {
	for text, want := range map[string]uint64{"17": 17, "0xff": 255} {
		t.Setenv(EnvSeed, text)
		if got := Seed(t); got != want {
			t.Errorf("%s=%s: %d", EnvSeed, text, got)
		}
	}
	if _, err := seedOf("seventeen", nil); err == nil {
		t.Error("a seed that is no number")
	}
	for all, want := range map[string]string{"": "[10 1]", "1": "[100 5]"} {
		t.Setenv(EnvAll, all)
		if got := fmt.Sprint([]int{Size(100), Size(5)}); got != want {
			t.Errorf("%s=%s: %s, want %s", EnvAll, all, got, want)
		}
	}
}

// noted is a test that fails on demand.
type noted struct {
	testing.TB
	failed bool
	log    string
}

func (n *noted) Helper()                    {}
func (n *noted) Failed() bool               { return n.failed }
func (n *noted) Logf(text string, a ...any) { n.log += fmt.Sprintf(text, a...) }

func TestEachStopsAtTheSeedThatFailsAndNamesIt(t *testing.T) {
	t.Setenv(EnvAll, "")
	seeds := Seeds(1<<64-1, 20, 0xbad)
	if want := []uint64{0xbad, 1<<64 - 1, 0}; !slices.Equal(seeds, want) {
		t.Fatalf("%x, want %x", seeds, want)
	}
	n, tried := &noted{TB: t}, 0
	Each(n, seeds, func(seed uint64) {
		tried++
		n.failed = seed == 1<<64-1
	})
	if tried != 2 || !strings.Contains(n.log, EnvSeed+"=0xffffffffffffffff") {
		t.Errorf("%d tried: %s", tried, n.log)
	}
}

func TestMutantsAreManyAndRepeat(t *testing.T) {
	corpus := []string{"", `{"a":[1,2]}`, "key = 'value'"}
	different := map[string]bool{}
	first, second := Random(1, 2), Random(1, 2)
	for range 1000 {
		mutant := Mutate(first, corpus)
		if again := Mutate(second, corpus); again != mutant {
			t.Fatalf("%q, then %q", mutant, again)
		}
		different[mutant] = true
	}
	t.Setenv(EnvAll, "")
	if all := Corpus(t, corpus...); len(all) != len(corpus)+100 || !slices.Equal(all[:len(corpus)], corpus) {
		t.Errorf("a corpus of %d", len(all))
	}
	if len(different) < 500 {
		t.Errorf("only %d different ones of 1000", len(different))
	}
	if corpus[1] != `{"a":[1,2]}` {
		t.Errorf("the corpus became %q", corpus)
	}
}

func TestSomeAreChosenBySeedAndInOrder(t *testing.T) {
	t.Setenv(EnvAll, "")
	all := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	seen := map[int]bool{}
	for seed := range uint64(100) {
		some := Some(seed, all, 5)
		if len(some) != 2 || !slices.IsSorted(some) || !slices.Equal(some, Some(seed, all, 5)) {
			t.Fatalf("seed %d: %v", seed, some)
		}
		seen[some[0]], seen[some[1]] = true, true
	}
	if len(seen) != len(all) {
		t.Errorf("a hundred seeds chose only %v", seen)
	}
	t.Setenv(EnvAll, "1")
	if some := Some(1, all, 5); !slices.Equal(some, all) {
		t.Errorf("of everything: %v", some)
	}
}
