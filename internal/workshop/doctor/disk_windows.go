package doctor

import "golang.org/x/sys/windows"

// freeBytes returns the space that this user may still use on the disk of a directory.
func freeBytes(dir string) (free uint64, ok bool) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil || dir == "" || windows.GetDiskFreeSpaceEx(path, &free, nil, nil) != nil {
		return 0, false
	}
	return free, true
}
