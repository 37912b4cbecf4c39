package sample

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Corpus returns texts and Size(1000) mutants of them: the seeds of a fuzz target, which go test runs
// as plain tests.
func Corpus[T ~string | ~[]byte](f testing.TB, texts ...T) []T {
	f.Helper()
	random, corpus := Random(Seed(f), 0), slices.Clip(texts)
	for range Size(1000) {
		corpus = append(corpus, Mutate(random, texts))
	}
	return corpus
}

// Mutate returns one of a corpus with a few small changes.
func Mutate[T ~string | ~[]byte](random *rand.Rand, corpus []T) T {
	text := []byte(corpus[random.IntN(len(corpus))])
	for range 1 + random.IntN(4) {
		text = changed(random, text, []byte(corpus[random.IntN(len(corpus))]))
	}
	return T(text)
}

// telling are bytes that mean something in many formats.
const telling = "{}[](),:;'\"`\\/#-+.=<>&|$% \t\r\n\x00\x7f\x80\xbf\xc3\xef\xff09aAeEzZ"

// changed returns a changed copy of text. Some changes take a piece of another text.
func changed(random *rand.Rand, text, other []byte) []byte {
	begin, end := part(random, text)
	switch random.IntN(6) {
	case 0:
		return slices.Concat(text[:begin], text[end:])
	case 1:
		return slices.Concat(text[:end], text[begin:])
	case 2:
		return slices.Insert(slices.Clone(text), begin, telling[random.IntN(len(telling))])
	case 3:
		from, to := part(random, other)
		return slices.Concat(text[:begin], other[from:to], text[end:])
	}
	if len(text) == 0 {
		return []byte{telling[random.IntN(len(telling))]}
	}
	text, begin = slices.Clone(text), min(begin, len(text)-1)
	if random.IntN(2) == 0 {
		text[begin] ^= 1 << random.IntN(8)
	} else {
		text[begin] = telling[random.IntN(len(telling))]
	}
	return text
}

// part returns the bounds of a part of text, mostly a short one.
func part(random *rand.Rand, text []byte) (begin, end int) {
	begin = random.IntN(len(text) + 1)
	longest := len(text) - begin
	if random.IntN(4) > 0 {
		longest = min(longest, 8)
	}
	return begin, begin + random.IntN(longest+1)
}
