package installed

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// VersionPattern matches a semantic version (semver.org 2.0.0) without a leading v.
const VersionPattern = `[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}(?:-[0-9A-Za-z.-]{1,60})?(?:\+[0-9A-Za-z.-]{1,60})?`

var wholeVersion = regex.New(`^` + VersionPattern + `$`)

// IsVersion reports whether s is a version as a release has one: 1.2.3 or 1.2.3-rc.1.
func IsVersion(s string) bool { return wholeVersion.MatchString(s) }

// Compare returns -1, 0 or 1 if version a precedes b, is equal to it, or follows it. Build metadata
// does not count: "Precedence is determined by the first difference when comparing each of these
// identifiers from left to right" (semver.org, 11).
func Compare(a, b string) int {
	a, _, _ = strings.Cut(a, "+")
	b, _, _ = strings.Cut(b, "+")
	coreA, preA, _ := strings.Cut(a, "-")
	coreB, preB, _ := strings.Cut(b, "-")
	switch order := compareParts(coreA, coreB); {
	case order != 0:
		return order
	case preA == "" || preB == "": // "a pre-release version has lower precedence than the associated normal version"
		return cmp.Compare(len(preB), len(preA))
	}
	return compareParts(preA, preB)
}

// compareParts compares identifiers that are separated by dots.
func compareParts(a, b string) int {
	for a != "" && b != "" {
		var partA, partB string
		partA, a, _ = strings.Cut(a, ".")
		partB, b, _ = strings.Cut(b, ".")
		if order := comparePart(partA, partB); order != 0 {
			return order
		}
	}
	return cmp.Compare(len(a), len(b))
}

// comparePart compares numbers by value and others as text. A number precedes any text.
func comparePart(a, b string) int {
	numberA, errA := strconv.ParseUint(a, 10, 64)
	numberB, errB := strconv.ParseUint(b, 10, 64)
	switch {
	case errA == nil && errB == nil:
		return cmp.Compare(numberA, numberB)
	case errA == nil:
		return -1
	case errB == nil:
		return 1
	}
	return strings.Compare(a, b)
}
