package faultyserver

import (
	"io"
	"strings"
	"testing"
	"time"
)

func TestEveryFaultParsesAloneWithACountAndWithItsOptions(t *testing.T) {
	sample := map[string]string{"code": "3", "n": "5", "after": "10ms", "signal": "KILL", "stderr": "bye", "to": "2025-03-26", "at": "each", "setsid": "true"}
	for _, f := range faults {
		values := []string{"-" + f.name, "-" + f.name + "=2", "-" + f.name + "=2,skip=1", "-" + f.name + "=false"}
		for _, o := range f.options {
			value := sample[o]
			if o == "kind" {
				value = strings.Join(f.kinds, "+")
			}
			values = append(values, "-"+f.name+"=1,"+o+"="+value)
		}
		for _, v := range values {
			cfg, err := parseFlags([]string{"-state=x", v}, io.Discard)
			if err != nil {
				t.Errorf("%s: %v", v, err)
				continue
			}
			if a := cfg.faults[f.name]; a.on == strings.HasSuffix(v, "=false") {
				t.Errorf("%s: on is %v", v, a.on)
			}
		}
		for key := range f.defaults {
			a := &armed{fault: &f}
			if err := a.setOption(key, f.defaults[key]); err != nil {
				t.Errorf("-%s: its own default is not allowed: %v", f.name, err)
			}
		}
		for _, kind := range f.kinds {
			if f.name == "tools-change" && changes[kind] == nil {
				t.Errorf("tools-change: kind %s does nothing", kind)
			}
		}
	}
}

func TestBareWordsAndOptionsMeanTheSame(t *testing.T) {
	cfg, err := parseFlags([]string{"-exit-after=100ms,code=3", "-stray=banner+ansi,at=each", "-late-initialize=2,9900ms,skip=1"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if a := cfg.faults["exit-after"]; a.duration("after") != 100*time.Millisecond || a.number("code") != 3 || a.count != 0 {
		t.Errorf("exit-after: %+v", a)
	}
	if a := cfg.faults["stray"]; strings.Join(a.words("kind"), " ") != "banner ansi" || a.text("at") != "each" {
		t.Errorf("stray: %+v", a)
	}
	if a := cfg.faults["late-initialize"]; a.count != 2 || a.skip != 1 || a.duration("after") != 9900*time.Millisecond {
		t.Errorf("late-initialize: %+v", a)
	}
}

func TestBadFlagSaysWhatIsAllowed(t *testing.T) {
	for flags, want := range map[string]string{
		"-era=old":                    `-era "old": must be one of both, legacy, modern`,
		"-stray=flag":                 `kind "flag": must be one or more of ansi, array, banner,`,
		"-hang=often":                 `"often": must be a count [skip=, n=, calls=]`,
		"-hang=0":                     "count 0: must be at least 1",
		"-hang=after=1s":              `option "after": expected a count [skip=, n=, calls=]`,
		"-exit-after=soon":            `after "soon": must be a duration such as 100ms or 2s`,
		"-exit-at-start=signal=NOPE":  `signal "NOPE": must be one of ABRT, BUS, HUP, INT, KILL,`,
		"-exit-at-start=code=x":       `code "x": must be an integer`,
		"-grandchild=setsid=perhaps":  `setsid "perhaps": must be true or false`,
		"-stray=at=noon":              `at "noon": must be start or each`,
		"-spin=n=-1":                  `n "-1": must be at least 0`,
		"-spin=skip=-1":               `skip "-1": must be at least 0`,
		"-exit-at-start=3":            "requires -state FILE",
		"-tools-change":               "requires -state FILE",
		"-page-size=-1":               "-page-size, -resources and -lifetime must not be negative",
		"-no-such-fault":              "not defined: -no-such-fault",
		"-hang 3":                     `argument "3": only flags are accepted`,
		"-state=/no/such/dir/state":   "-state: open /no/such/dir/state",
		"-ledger=/no/such/dir/ledger": "-ledger: open /no/such/dir/ledger",
	} {
		var stderr strings.Builder
		code := Main(strings.Fields(flags), strings.NewReader(""), io.Discard, &stderr)
		if code == 0 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: code %d, said %q, want %q", flags, code, stderr.String(), want)
		}
	}
}

func TestHelpNamesEveryFlag(t *testing.T) {
	var stderr strings.Builder
	if code := Main([]string{"-help"}, strings.NewReader(""), io.Discard, &stderr); code != 0 {
		t.Errorf("code %d", code)
	}
	for _, f := range faults {
		if !strings.Contains(stderr.String(), "  -"+f.name+" ") {
			t.Errorf("-%s is not in the help", f.name)
		}
	}
}
