//go:build race

package clientconfig

// raceDetector makes everything ten times slower: fewer files are enough then.
const raceDetector = true
