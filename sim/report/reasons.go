package report

// reasons explains rows outside the tolerance, by scenario and controller as the
// reference names it. "*" stands for any controller.
var reasons = map[[2]string]string{
	{"alone_1_5M", "c4"}: "Two stable outcomes: one early rate sample leaves C4 above or below the link's rate, and the queue stays or drains. " +
		"The reference always takes the first, because its client delays its first acknowledgement of data by 2.8 ms (it paces its own packets, which is not modelled).",
	{"alone_512k", "bbr"}: "The same pacing of the client: the first round-trip sample is 95.1 ms here and 90.8 ms there. With a window of four packets BBR keeps the difference.",
	{"blackhole", "bbr"}:  "The reference, run again, gives 138 to 143 ms in most runs, as here. The mean of its table contains runs with much longer samples after the pause.",
	{"after_c4", "*"}:     "The handshake starts into a full queue and is repeated. Its timers are simplified here. In earlier runs with equal number gaps both had the same clusters of times, in other proportions.",
	{"before_c4", "c4"}:   "The other flow's handshake starts into a full queue, see after_c4. In an earlier comparison with equal number gaps, 14 runs of both gave 68.6 and 71.7 ms, standard error 1.6.",
	{"before_c4", "*"}:    "One sequence of random numbers decides, which the reference draws from the time of the first packet: with that 1, 2 or 3 us earlier the mean of 12 runs is 4.5, 3.8 or 4.0 s in place of 4.8.",
	{"wifi_bad", "c4"}: "The reference, run again, gives 4.14 s (150 runs, standard error 0.04) and 107 ms (80 runs, standard error 4), which is what is measured here. " +
		"Its table has 60 runs.",
	{"wifi_bad", "bbr"}:      "BBR's start-up decides between a fast and a slow run, 3.5 to 9 s; 100 runs are within the tolerance.",
	{"wifi_fade", "c4"}:      "100 runs are within the tolerance.",
	{"wifi_bad_c4", "*"}:     "Two clusters, the other flow ends before or after the main one, and their shares make the mean.",
	{"wifi_bad_cubic", "c4"}: "A wide spread, 5.7 to 12.5 s. The times are 2.1 standard errors of their difference apart, which may be chance.",
	{"wifi_bad_cubic", "*"}:  "Two clusters, below 10.5 and above 11.5 s: the other flow ends before or after the main one. The times are 2.7 standard errors of their difference apart, which may be more than chance; the cause was not found.",
	{"wifi_bad_bbr", "*"}:    "Two clusters, the other flow ends before or after the main one, and their shares make the mean.",
	{"wifi_bad_q80", "bbr"}:  "BBR's start-up decides between a fast and a slow run. The round trips are 1.9 standard errors of their difference apart, which may be chance.",
	{"vs_cubic", "*"}:        "Two flows that start at the same instant stay in step; a few outcomes hold most of the runs.",
	{"vs_cubic_lg", "*"}:     "Two flows that start at the same instant stay in step; a few outcomes hold most of the runs.",
	{"ecn_cubic", "bbr"}:     "Two clusters, at 7 and 10 s, decided by BBR's start-up: it ends at 2.05 to 2.25 s, or goes on to 2.3 to 2.5 s with twice the losses for the other flow. 1 of 12 runs of the reference made again is in the first cluster, here it is half. That is not chance; what makes start-up longer here was not found.",
	{"ecn_cubic", "c4"}:      "A wide spread, 7 to 9.2 s. 30 runs of the reference made again have a mean of 8.15 s, standard error 0.12: 2.3 standard errors from here. Probably it depends on which flow's packets the full queue drops first.",
	{"ecn_c4", "*"}:          "Wide clusters. The cause was not found.",
	{"bbloat_c4", "c4"}:      "The reference has two modes (about 165 to 215 and 290 to 390 ms), as no losses break the step of the two flows; here nearly all runs are in the first. Compare the distributions below.",
	{"bbloat_c4", "bbr"}:     "A tail: most runs of both take 21.2 to 21.6 s, a few in the reference's table 39 s, and their share makes the mean. With other random numbers in every run one in thirty takes 40 s here, too; 12 runs of the reference made again are all within 21.2 and 21.6 s.",
	{"vs_c4_lg", "bbr"}:      "One sequence of random numbers decides, see before_c4: with the first packet 1 us earlier the mean is 34.4 s in place of 24.5, 2 us earlier 23.7. With other numbers in every run 10 runs of 30 take 21 s, 3 take 24 and 17 take 37 to 41, mean 31.9 s and 95.9 ms, which is what the reference has.",
	{"media_wb", "*"}:        "Decided by a few late frames in a few runs: the standard error is 3.5 % there and 3.1 % here. Beyond 10 % the cause was not found.",
	{"media_wf", "*"}:        "Decided by a few late frames in a few runs.",
	{"alone_200", "*"}:       "Clusters: at about 0.34 s the growth is within 0.01 % of the threshold that decides between one more round of start-up and none.",
}

// reasonsECN explains rows outside the tolerance where marking is as it should be.
var reasonsECN = map[[2]string]string{
	{"ecn_cubic", "c4"}:  "The reference, made again, has two outcomes: 13 s (three runs of five) and 29 s. There the second datagram of the handshake overtakes the first, through the low-latency queue, the client's first acknowledgement comes 45 ms late, and C4 starts without a peak rate. Here all runs take 22 s; what remains different was not found.",
	{"ecn_bbr", "c4"}:    "The reference, made again, spreads from 14.5 to 25.6 s over five runs, here from 13 to 21.4 s. The times are 2.6 standard errors of their difference apart.",
	{"ecn_c4", "*"}:      "Wide clusters. The times are 3.5 standard errors of their difference apart, which is not chance; the cause was not found.",
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
