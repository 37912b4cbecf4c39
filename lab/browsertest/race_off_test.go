//go:build unix && !race

package browsertest_test

const raceEnabled = false
