package probe

import "golang.org/x/sys/windows"

// countsCPU reports whether this system counts the CPU time of servers as they
// use it: wine is late by a second and more.
func countsCPU() bool {
	return windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() != nil
}
