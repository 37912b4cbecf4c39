package kernel

import (
	"slices"
	"testing"
)

func TestCallsWithOneToken(t *testing.T) {
	t.Parallel()
	tokens := newTokens()
	a, b, c := &Call{token: "t", state: sent}, &Call{token: "t", state: queued}, &Call{token: "t", state: sent}
	other, none := &Call{token: "other", state: sent}, &Call{state: sent}
	want := func(first *Call, all ...*Call) {
		t.Helper()
		if got := tokens.sent("t"); got != first {
			t.Errorf("the first is %p, want %p", got, first)
		}
		if got := slices.Collect(tokens.allSent("t")); !slices.Equal(got, all) {
			t.Errorf("with the server are %v, want %v", got, all)
		}
	}
	want(nil)
	for _, one := range []*Call{a, b, c, other, none} {
		tokens.add(one)
	}
	want(a, a, c)
	a.state = held
	want(c, c)
	tokens.remove(c)
	want(nil)
	tokens.remove(&Call{token: "t"}) // of a call that was never added
	tokens.remove(a)
	b.state = sent
	want(b, b)
	if tokens.shared("t") {
		t.Error("one call shares its token")
	}
	tokens.remove(b)
	tokens.remove(none)
	if want(nil); tokens.sent("other") != other || len(tokens.first) != 1 || len(tokens.more) != 0 {
		t.Errorf("left: %v", tokens)
	}
}
