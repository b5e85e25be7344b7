package imports

import "testing"

// Kinds of chunks differ, also from those that stand for the rows of other tables.
func TestKindsDiffer(t *testing.T) {
	seen := map[int64]bool{}
	for _, kind := range []int64{
		importFile, importFaults, importBrought, importReplaced, importSurvey, importTagged, importPosts, importStayed,
		importPacked, importCopies, importEveryone,
	} {
		if seen[kind] {
			t.Errorf("two kinds are %d", kind)
		}
		seen[kind] = true
	}
}
