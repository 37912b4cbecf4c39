// Command messages prints every message that a user or a model can read, one per line with its place:
// strings of three words or more in the product's Go files, causes, clients' files, repair sentences and
// dashboard templates. A part that is filled in at run time is shown as ….
//
//	go -C lab run ./messages                          all of them
//	go -C lab run ./messages -under internal/wrap     those of a package
//	go -C lab run ./messages -sample 150 -seed 7      a random sample, for raters; the same for the same seed
package main

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
)

// A message is a text that a user or a model can read.
type message struct {
	file string
	line int
	text string
}

func main() {
	root := flag.String("root", "..", "`directory` of the module")
	under := flag.String("under", "", "only files whose path starts with this `prefix`")
	sample := flag.Int("sample", 0, "print `N` random messages; 0 prints all")
	seed := flag.Uint64("seed", 1, "`number` that decides which random messages are printed")
	flag.Parse()
	found, err := extract(*root, *under)
	if err != nil {
		fmt.Fprintf(os.Stderr, "messages: %v\nnext: go -C lab run ./messages\n", err)
		os.Exit(1)
	}
	for _, m := range pick(found, *sample, *seed) {
		fmt.Printf("%s:%d: %s\n", m.file, m.line, m.text)
	}
}

// pick returns n random messages in the order of their places, or all of them if n is 0.
func pick(all []message, n int, seed uint64) []message {
	if n > 0 && n < len(all) {
		random := rand.New(rand.NewPCG(seed, seed))
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = all[:n]
	}
	slices.SortStableFunc(all, func(a, b message) int {
		return cmp.Or(strings.Compare(a.file, b.file), a.line-b.line)
	})
	return all
}
