//go:build !race

package clientconfig

const raceDetector = false
