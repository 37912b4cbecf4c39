package wire

import "slices"

// Edit replaces Old with New.
type Edit struct{ Old, New []byte }

// Replace appends whole with each edit applied and every other byte unchanged.
// Each Old must be a slice of whole, as returned by Scan and Field. The edits may
// be in any order but must not overlap.
func Replace(dst, whole []byte, edits ...Edit) []byte {
	size := len(whole)
	for i := range edits {
		size += len(edits[i].New)
	}
	dst = slices.Grow(dst, size)
	from := 0
	for range edits {
		// Find the next edit; a linear search suffices for two or three.
		var next *Edit
		at := len(whole) + 1
		for i := range edits {
			if start := cap(whole) - cap(edits[i].Old); start >= from && start < at {
				next, at = &edits[i], start
			}
		}
		if next == nil {
			break
		}
		dst = append(append(dst, whole[from:at]...), next.New...)
		from = at + len(next.Old)
	}
	return append(dst, whole[from:]...)
}
