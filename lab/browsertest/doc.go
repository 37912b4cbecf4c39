// Package browsertest opens the dashboard of a real run in a real browser: gauze wraps real servers
// that fail, and Chromium shows what came of it.
//
//	run.go      Run: a home, a state directory, gauze and a server that fails; its wraps and dashboard
//	client.go   Wrap: a client and the server that gauze wraps for it
//	scenes.go   what happens in a run: kills, repairs, a correction, a diagnosis, a task, a broken entry
//	hour.go     Hour: a run whose pauses are made longer, for the pictures
//	browser.go  Browser and Page: Chromium, and what is wrong with a page
//	pictures/   writes the pictures in docs/pictures
package browsertest
