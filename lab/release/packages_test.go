package main

import (
	"regexp"
	"testing"
)

// ascending are versions in their order.
var ascending = []string{
	"0.0.0-dev+gabcdef012345", "1.2.3-alpha.1", "1.2.3-dev.5+gabcdef012345", "1.2.3-dev.14+g0123456789ab", "1.2.3-rc.1", "1.2.3-rc.2",
	"1.2.3", "1.2.3+dirty", "1.2.4-dev.1+gabcdef012345", "1.2.4", "1.10.0",
}

// A version is in the form of each format. apk has words for four kinds of versions before a release only.
func TestVersionsOfPackages(t *testing.T) {
	for _, c := range []struct{ version, tilde, apk, arch string }{
		{"1.2.3", "1.2.3", "1.2.3", "1.2.3"},
		{"1.2.4-dev.5+gabcdef", "1.2.4~dev.5+gabcdef", "1.2.4_alpha5", "1.2.4dev.5+gabcdef"},
		{"0.0.0-dev+gabcdef.dirty", "0.0.0~dev+gabcdef.dirty", "0.0.0_alpha", "0.0.0dev+gabcdef.dirty"},
		{"1.2.3-rc.1", "1.2.3~rc.1", "1.2.3_rc1", "1.2.3rc.1"},
		{"1.2.3-beta2", "1.2.3~beta2", "1.2.3_beta2", "1.2.3beta2"},
		{"1.2.3-pre-x.4+a-b", "1.2.3~pre.x.4+a.b", "1.2.3_pre4", "1.2.3pre.x.4+a.b"},
		{"1.2.3+dirty", "1.2.3+dirty", "1.2.3", "1.2.3+dirty"},
	} {
		if got := tildeVersion(c.version); got != c.tilde {
			t.Errorf("deb and rpm: %s for %s", got, c.version)
		}
		if got := apkVersion(c.version); got != c.apk {
			t.Errorf("apk: %s for %s", got, c.version)
		}
		if got := archVersion(c.version); got != c.arch {
			t.Errorf("arch: %s for %s", got, c.version)
		}
	}
	accepted := regexp.MustCompile(`^[0-9]+(\.[0-9]+)*(_(alpha|beta|pre|rc)[0-9]*)?$`)
	for _, version := range ascending {
		if got := apkVersion(version); !accepted.MatchString(got) {
			t.Errorf("apk does not accept %s", got)
		}
	}
}
