package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
)

// refuseForeignLog keeps a store closed whose file is older than its write-ahead log: a copy that was put in place
// beside the log of a gateway that crashed. The engine would lay the log's pages over the copy's, and the newest
// commit number, which is always among them, would make the whole look like the newest store, with messages that
// wait and have left (D20). Whatever opens such a file merges the two for good, so this comes first.
//
// A log begins when everything before it is in the file, and every transaction raises its writer's number by one. So
// the first page of numbers in the log, less one, is the least that its own file can have, however many of the log's
// pages were copied into that since, and whenever the process was killed (I19).
func refuseForeignLog(ctx context.Context, path string) error {
	// The log first: another process may end it and begin a new one meanwhile, but what is in the file only grows.
	log, err := numbersOfLog(path + "-wal")
	if err != nil || len(log) == 0 {
		return err
	}
	root, file, known := numbersOfFile(ctx, path)
	if !known {
		return nil
	}
	for page, first := range log {
		for node, n := range first {
			has, ours := file[node]
			// Another table's page could look the same. A copy that the engine has made anew has its pages elsewhere.
			if (page == root || ours) && has < n-1 {
				return &foreignLogError{begins: n - 1, has: has}
			}
		}
	}
	return nil
}

// numbersOfLog reads the first frame of each page that may be one of commit_number.
func numbersOfLog(path string) (map[uint32]numbers, error) {
	first := map[uint32]numbers{}
	err := readLog(path, func(f frame) {
		if all := numbersIn(f.page); len(all) > 0 && first[f.number] == nil {
			first[f.number] = all
		}
	})
	return first, err
}

// numbersOfFile reads the numbers, and the page that has them, of the file alone, as if there were no log. They are
// not known if the file is being written, or is from before there were any.
func numbersOfFile(ctx context.Context, path string) (root uint32, file numbers, known bool) {
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=ro&immutable=1")
	if err != nil {
		return 0, nil, false
	}
	defer func() { _ = db.Close() }() // it was only read
	if err := db.QueryRowContext(ctx, "select rootpage from sqlite_schema where name = 'commit_number'").Scan(&root); err != nil {
		return 0, nil, false
	}
	rows, err := db.QueryContext(ctx, "select node, n from commit_number where writer = 0 and length(node) = 16")
	if err != nil {
		return 0, nil, false
	}
	file = numbers{}
	for rows.Next() {
		var (
			node []byte
			n    int64
		)
		if err = rows.Scan(&node, &n); err != nil {
			break
		}
		file[[16]byte(node)] = n
	}
	return root, file, errors.Join(err, rows.Err(), rows.Close()) == nil
}

// foreignLogError says that the file and the log beside it do not belong together.
type foreignLogError struct{ begins, has int64 }

func (e *foreignLogError) Error() string {
	return fmt.Sprintf("an older copy lies under the write-ahead log (-wal) of a gateway that was killed: the log begins after transaction %d, "+
		"and the copy ends with %d. Nothing was changed. Remove the files with -wal and -shm at the end of their names, put the copy in its place again, and start", e.begins, e.has)
}
