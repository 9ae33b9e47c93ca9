package report

// reasons explains rows outside the tolerance, by scenario and controller as the
// reference names it. "*" stands for any controller.
var reasons = map[[2]string]string{
	{"alone_1_5M", "c4"}: "Two stable outcomes: one early rate sample leaves C4 above or below the link's rate, and the queue stays or drains. " +
		"The reference always takes the first, because its client delays its first acknowledgement of data by 2.8 ms (it paces its own packets, which is not modelled).",
	{"alone_512k", "bbr"}: "The same pacing of the client: the first round-trip sample is 95.1 ms here and 90.8 ms there. With a window of four packets BBR keeps the difference.",
	{"blackhole", "bbr"}:  "The reference, run again, gives 138 to 143 ms in most runs, as here. The mean of its table contains runs with much longer samples after the pause.",
	{"after_c4", "*"}:     "The handshake starts into a full queue and is repeated. Its timers are simplified here; with the same number gaps the runs fall into the same clusters (5.7, 6.4, 6.7 and 6.9 s) in other proportions.",
	{"before_c4", "c4"}:   "The other flow's handshake starts into a full queue, see after_c4. With equal number gaps, 14 runs of both gave 68.6 and 71.7 ms, standard error 1.6.",
	{"before_c4", "*"}:    "The other flow's handshake starts into a full queue, see after_c4; the time spreads from 2.8 to 5.4 s.",
	{"wifi_bad", "c4"}: "The reference, run again, gives 4.14 s (150 runs, standard error 0.04) and 107 ms (80 runs, standard error 4), which is what is measured here. " +
		"Its table has 60 runs.",
	{"wifi_bad_c4", "*"}:    "Two clusters, the other flow ends before or after the main one; means of 100 runs differ by this much.",
	{"wifi_bad_cubic", "*"}: "Two clusters, the other flow ends before or after the main one; means of 100 runs differ by this much.",
	{"wifi_bad_bbr", "*"}:   "Two clusters, the other flow ends before or after the main one; means of 100 runs differ by this much.",
	{"wifi_bad_q80", "bbr"}: "Standard error 2.6 % here and as much there; BBR's start-up decides between a fast and a slow run.",
	{"vs_c4_lg", "bbr"}:     "Two clusters, at 21 and 39 s: the reference, run again, has 5 and 5 of 10 runs in them, here it is two to one.",
	{"vs_cubic", "*"}:       "Two flows that start at the same instant stay in step; a few outcomes hold most of the runs.",
	{"vs_cubic_lg", "*"}:    "Two flows that start at the same instant stay in step; a few outcomes hold most of the runs.",
	{"ecn_cubic", "bbr"}:    "Two clusters, at 7 and 10 s: 1 of 12 runs of the reference is in the first, here it is half.",
	{"ecn_cubic", "c4"}:     "Wide clusters between 7 and 9.5 s; 30 runs of the reference made again have a mean of 8.15 s, standard error 0.12. Which flow's packets the full queue drops first decides.",
	{"ecn_c4", "*"}:         "Wide clusters; means of 100 runs differ by this much.",
	{"bbloat_c4", "c4"}:     "Two modes (about 165 to 215 and 290 to 390 ms in the reference): no losses break the step of the two flows. Compare the distributions below.",
	{"bbloat_c4", "bbr"}:    "A tail: most runs of both take 21.2 to 21.6 s, a few in the reference's table 39 s, and their share makes the mean; 12 runs of the reference made again are all within 21.2 and 21.6 s.",
	{"media_wb", "*"}:       "Decided by a few late frames in a few runs; the standard error of the reference's mean is 3.5 %.",
	{"media_wf", "*"}:       "Decided by a few late frames in a few runs.",
	{"alone_200", "*"}:      "Clusters: at about 0.34 s the growth is within 0.01 % of the threshold that decides between one more round of start-up and none.",
}

// reasonsECN explains rows outside the tolerance where marking is as it should be.
var reasonsECN = map[[2]string]string{
	{"ecn_cubic", "c4"}: "The reference, made again, has two outcomes: 13 s (three runs of five) and 29 s. There the second datagram of the handshake overtakes the first, " +
		"through the low-latency queue, and the client's first acknowledgement comes 45 ms late, so that C4 starts without a peak rate; here it starts with one, and takes 22 s.",
	{"ecn_bbr", "c4"}:    "The reference, made again, spreads from 14.5 to 25.6 s over five runs.",
	{"ecn_c4", "*"}:      "Wide clusters; means of 25 runs differ by this much.",
	{"ecn_cubic", "bbr"}: "Two clusters, at 7 and 10 s, as without marks.",
}

// reason looks an explanation up.
func reason(table map[[2]string]string, scenario, cc string) string {
	if r, ok := table[[2]string{scenario, cc}]; ok {
		return r
	}
	if r, ok := table[[2]string{scenario, "*"}]; ok {
		return r
	}
	return "Not explained."
}
