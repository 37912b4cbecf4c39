package plaintext

// Distance returns the Levenshtein distance of two strings: how many letters to insert, delete or
// replace. It takes quadratic time: callers bound what others wrote.
func Distance(a, b string) int { return edits(a, b, false) }

// Typos is Distance where a swap of neighbours, the most common typing mistake, is one edit.
func Typos(a, b string) int { return edits(a, b, true) }

func edits(a, b string, swaps bool) int {
	from, to := []rune(a), []rune(b)
	earlier, before, row := make([]int, len(to)+1), make([]int, len(to)+1), make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, r := range from {
		earlier, before, row = before, row, earlier
		row[0] = i + 1
		for j, q := range to {
			replaced := before[j]
			if r != q {
				replaced++
			}
			row[j+1] = min(replaced, before[j+1]+1, row[j]+1)
			if swaps && i > 0 && j > 0 && r == to[j-1] && from[i-1] == q {
				row[j+1] = min(row[j+1], earlier[j-1]+1)
			}
		}
	}
	return row[len(to)]
}
