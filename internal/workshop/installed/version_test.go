package installed

import "testing"

// The order is that of semver.org, 11.
func TestVersionsAreOrdered(t *testing.T) {
	ordered := []string{"0.0.0-dev", "0.9.10", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2",
		"1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1-dev.3+gabc", "1.0.1", "1.2.0", "1.10.0", "2.0.0"}
	for i, a := range ordered {
		if !IsVersion(a) {
			t.Errorf("%s is not a version", a)
		}
		for j, b := range ordered {
			want := 0
			if i != j {
				want = 1 - 2*btoi(i < j)
			}
			if got := Compare(a, b); got != want {
				t.Errorf("Compare(%s, %s) = %d, not %d", a, b, got, want)
			}
		}
	}
	if Compare("1.2.3+g1", "1.2.3+g2") != 0 {
		t.Error("build metadata counts")
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestOtherTextIsNotAVersion(t *testing.T) {
	for _, text := range []string{"", "dev", "v1.2.3", "1.2", "1.2.3.4", "1.2.3-", "1.2.3 ", "1.2.3/..", "1.2.3-a/b", "1.2.3_x", "99999999999.0.0", "1.2.3\n"} {
		if IsVersion(text) {
			t.Errorf("%q is a version", text)
		}
	}
}
