package history

import (
	"reflect"
	"testing"
)

// Constructors for the events below.

func invoke(id, key string) Event { return Event{Kind: Invoke, ID: id, Key: key, Effect: true} }
func read(id, text string) Event  { return Event{Kind: Invoke, ID: id, Key: text} }
func ok(id, key string) Event     { return Event{Kind: OK, ID: id, Key: key} }
func unknown(id string) Event     { return Event{Kind: Unknown, ID: id} }
func fail(id string, unsent bool) Event {
	return Event{Kind: Fail, ID: id, Code: "broke", Unsent: unsent}
}

// set is an idempotent call. Its key contains the register and the value.
func set(id, register, key string) Event {
	return Event{Kind: Invoke, ID: id, Key: key, Effect: true, Register: register}
}
func foreign(id string) Event          { return Event{Kind: Foreign, ID: id, Code: "{}"} }
func kill(pid int, settled bool) Event { return Event{Kind: Kill, PID: pid, Settled: settled} }
func did(pid int, keys ...string) []Effect {
	var all []Effect
	for _, k := range keys {
		all = append(all, Effect{Key: k, PID: pid})
	}
	return all
}

var usual = Limits{UnknownPerKill: 1.5, Failed: 1, InOrder: true}

func TestGoodHistoriesPass(t *testing.T) {
	for name, story := range map[string]struct {
		events []Event
		ledger []Effect
	}{
		"nothing happened":                         {},
		"a call, its effect, its answer":           {[]Event{invoke("1", "a"), ok("1", "a")}, did(7, "a")},
		"a read leaves nothing in the ledger":      {[]Event{read("1", "hello"), ok("1", "hello")}, nil},
		"ids of different types are different":     {[]Event{read("1", "a"), read(`"1"`, "b"), ok(`"1"`, "b"), ok("1", "a")}, nil},
		"unknown, and it happened":                 {[]Event{invoke("1", "a"), kill(7, false), unknown("1")}, did(7, "a")},
		"unknown, and it did not happen":           {[]Event{invoke("1", "a"), kill(7, false), unknown("1")}, nil},
		"unknown, settled, and it did not happen":  {[]Event{invoke("1", "a"), kill(7, true), unknown("1")}, nil},
		"failed before it was sent":                {[]Event{invoke("1", "a"), fail("1", true)}, nil},
		"failed, and it is unknown how far it got": {[]Event{invoke("1", "a"), fail("1", false)}, did(7, "a")},
		"answers in another order than the calls":  {[]Event{invoke("1", "a"), invoke("2", "b"), ok("2", "b"), ok("1", "a")}, did(7, "a", "b")},
		"a gap in the ledger where one is unknown": {[]Event{invoke("1", "a"), invoke("2", "b"), kill(7, false), unknown("1"), ok("2", "b")}, did(8, "b")},
		"an idempotent effect came twice":          {[]Event{set("1", "x", "x=1"), ok("1", "x=1"), set("2", "x", "x=2"), ok("2", "x=2")}, did(7, "x=1", "x=1", "x=2")},
		"unknown, and it came after a later one":   {[]Event{set("1", "x", "x=1"), {Kind: Injected}, unknown("1"), set("2", "x", "x=2"), ok("2", "x=2")}, did(7, "x=2", "x=1")},
		"the ledger of two processes":              {[]Event{invoke("1", "a"), ok("1", "a"), kill(7, true), invoke("2", "b"), ok("2", "b")}, append(did(7, "a"), did(8, "b")...)},
	} {
		t.Run(name, func(t *testing.T) {
			if v := Check(story.events, story.ledger, usual); !v.Pass() {
				t.Errorf("broken: %v, %q", v.Broken, v.Examples)
			}
		})
	}
}

func TestEveryBrokenRuleIsNamed(t *testing.T) {
	for name, story := range map[string]struct {
		events []Event
		ledger []Effect
		want   Rule
	}{
		"no answer":                           {[]Event{invoke("1", "a")}, did(7, "a"), Lost},
		"no answer to a read":                 {[]Event{read("1", "a")}, nil, Lost},
		"two equal answers":                   {[]Event{invoke("1", "a"), ok("1", "a"), ok("1", "a")}, did(7, "a"), Double},
		"unknown, then the answer":            {[]Event{invoke("1", "a"), kill(7, false), unknown("1"), ok("1", "a")}, did(7, "a"), Double},
		"an id that was never used":           {[]Event{ok("9", "a")}, nil, NeverAsked},
		"the number became a string":          {[]Event{read("1", "a"), ok("1", "a"), ok(`"1"`, "a")}, nil, NeverAsked},
		"the answer came before the call":     {[]Event{ok("1", "a"), read("1", "a"), ok("1", "a")}, nil, NeverAsked},
		"an effect that was not requested":    {nil, did(7, "z"), NeverAsked},
		"done twice by two servers":           {[]Event{invoke("1", "a"), kill(7, false), ok("1", "a")}, append(did(7, "a"), did(8, "a")...), Duplicated},
		"done twice by one server":            {[]Event{invoke("1", "a"), ok("1", "a")}, did(7, "a", "a"), Duplicated},
		"done twice, reported as unknown":     {[]Event{invoke("1", "a"), kill(7, false), unknown("1")}, append(did(7, "a"), did(8, "a")...), Duplicated},
		"set again after a later call set it": {[]Event{set("1", "x", "x=1"), ok("1", "x=1"), set("2", "x", "x=2"), ok("2", "x=2")}, did(7, "x=1", "x=2", "x=1"), Reverted},
		"set, but not in the ledger":          {[]Event{set("1", "x", "x=1"), ok("1", "x=1")}, nil, Invented},
		"ok without an effect":                {[]Event{invoke("1", "a"), ok("1", "a")}, nil, Invented},
		"ok with a different key":             {[]Event{invoke("1", "a"), ok("1", "b")}, did(7, "a"), Invented},
		"the echo of another call":            {[]Event{read("1", "a"), ok("1", "b")}, nil, Invented},
		"an empty echo":                       {[]Event{read("1", "a"), ok("1", "")}, nil, Invented},
		"it did not happen, but it did":       {[]Event{invoke("1", "a"), fail("1", true)}, did(7, "a"), FalseDenial},
		"the answer was there to be read":     {[]Event{invoke("1", "a"), kill(7, true), unknown("1")}, did(7, "a"), ThrownAway},
		"the second call overtook the first":  {[]Event{invoke("1", "a"), invoke("2", "b"), ok("1", "a"), ok("2", "b")}, did(7, "b", "a"), OutOfOrder},
		"an error that is not ours":           {[]Event{read("1", "a"), foreign("1")}, nil, ForeignAnswer},
		"unknown without a kill":              {[]Event{invoke("1", "a"), unknown("1")}, nil, TooUnknown},
		"two unknown for one kill":            {[]Event{invoke("1", "a"), invoke("2", "b"), kill(7, false), unknown("1"), unknown("2")}, nil, TooUnknown},
		"more failures than the limit":        {[]Event{read("1", "a"), read("2", "b"), fail("1", true), fail("2", true)}, nil, GaveUp},
	} {
		t.Run(name, func(t *testing.T) {
			v := Check(story.events, story.ledger, usual)
			if want := []Rule{story.want}; !reflect.DeepEqual(v.Rules(), want) {
				t.Errorf("broken: %v, want %v; %q", v.Rules(), want, v.Examples)
			}
		})
	}
}

func TestOrderIsOnlyAskedForWhereItIsPromised(t *testing.T) {
	events := []Event{invoke("1", "a"), invoke("2", "b"), ok("1", "a"), ok("2", "b")}
	if v := Check(events, did(7, "b", "a"), Limits{}); !v.Pass() {
		t.Errorf("broken: %v", v.Broken)
	}
}

func TestTheVerdictCounts(t *testing.T) {
	v := Check([]Event{
		invoke("1", "a"), read("2", "b"), invoke("3", "c"), invoke("4", "d"), kill(7, false),
		ok("1", "a"), ok("2", "b"), unknown("3"), fail("4", true),
	}, did(7, "a", "a"), usual)
	got := []int{v.Calls, v.Answers, v.OK, v.Unknown, v.Failed["broke"], v.Effects, v.Duplicates, v.Kills}
	if want := []int{4, 4, 2, 1, 1, 2, 1, 1}; !reflect.DeepEqual(got, want) {
		t.Errorf("counts %v, want %v", got, want)
	}
	if v.UnknownPerKill() != 1 {
		t.Errorf("unknown per kill %v, want 1", v.UnknownPerKill())
	}
}
