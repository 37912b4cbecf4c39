// Package sample chooses the inputs of tests that could try more than there is time for.
//
// A sample moves with what is tested: its seed is a hash of the test binary. The same tree has the
// same samples, so that a failure repeats and Go's test cache holds, and every change brings new
// ones. A seed that failed becomes a case of its test and is tried each time.
package sample

import (
	"crypto/sha256"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
)

const (
	// EnvSeed names the seed of every sample, to repeat a failure.
	EnvSeed = "GAUZE_SEED"

	// EnvAll asks for samples of full size if it is not empty.
	EnvAll = "GAUZE_TEST_ALL"
)

// Seed returns the seed of t's samples: EnvSeed, or a hash of the test binary and of files, which are
// the programs that t runs.
func Seed(t testing.TB, files ...string) uint64 {
	t.Helper()
	seed, err := seedOf(os.Getenv(EnvSeed), files)
	if err != nil {
		t.Fatalf("no seed for the samples: %v", err)
	}
	t.Logf("%s=%#x", EnvSeed, seed)
	return seed
}

func seedOf(chosen string, files []string) (uint64, error) {
	if chosen != "" {
		return strconv.ParseUint(chosen, 0, 64)
	}
	self, err := ownHash()
	if err != nil || len(files) == 0 {
		return self, err
	}
	hash := sha256.New()
	hash.Write(binary.BigEndian.AppendUint64(nil, self))
	for _, name := range files {
		if err := add(hash, name); err != nil {
			return 0, err
		}
	}
	return binary.BigEndian.Uint64(hash.Sum(nil)), nil
}

// ownHash hashes the running test binary, once.
var ownHash = sync.OnceValues(func() (uint64, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	hash := sha256.New()
	err = add(hash, self)
	return binary.BigEndian.Uint64(hash.Sum(nil)), err
})

func add(hash io.Writer, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(hash, file)
	return err
}

// Size returns how many of all inputs to try: a tenth, or all of them if EnvAll says so.
func Size(all int) int { return Part(all, 10) }

// Part is Size with a smaller part, for inputs that take long.
func Part(all, part int) int {
	if os.Getenv(EnvAll) != "" {
		return all
	}
	return max(1, all/part)
}

// Seeds returns the seeds that failed once and Size(all) more from first on.
func Seeds(first uint64, all int, failed ...uint64) []uint64 {
	return SeedsOf(first, Size(all), failed...)
}

// SeedsOf returns the seeds that failed once and n more from first on.
func SeedsOf(first uint64, n int, failed ...uint64) []uint64 {
	seeds := failed[:len(failed):len(failed)]
	for i := range uint64(n) {
		seeds = append(seeds, first+i)
	}
	return seeds
}

// Some returns a part of all, chosen by seed and in its order; all of it if EnvAll says so.
func Some[T any](seed uint64, all []T, part int) []T {
	chosen := Random(seed, uint64(len(all))).Perm(len(all))[:min(len(all), Part(len(all), part))]
	slices.Sort(chosen)
	some := make([]T, 0, len(chosen))
	for _, i := range chosen {
		some = append(some, all[i])
	}
	return some
}

// Each tries one seed after the other until one fails, and says which that was.
func Each(t testing.TB, seeds []uint64, try func(seed uint64)) {
	t.Helper()
	for _, seed := range seeds {
		if Try(t, seed, try); t.Failed() {
			return
		}
	}
}

// Try tries one seed. If it fails or panics, Try says how to repeat that.
func Try(t testing.TB, seed uint64, try func(seed uint64)) {
	t.Helper()
	passed := false
	defer func() {
		if !passed {
			t.Logf("seed %#x failed: repeat it with %s=%#x, and add it to the failed seeds of this test", seed, EnvSeed, seed)
		}
	}()
	try(seed)
	passed = !t.Failed()
}

// Random returns the source of one seed. Different streams of a seed are independent.
func Random(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }
