// Package batch runs scenarios many times with several controllers, on all
// cores, and sums the runs up in rows.
//
// [Run] does it; the [Row] values come in the order of the scenarios and
// controllers asked for, and are the same whatever the number of workers.
// [WriteTable], [WriteTSV] and [WriteJSON] print them, [Check] compares them with
// the scenarios' pass bounds.
package batch
