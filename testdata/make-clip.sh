#!/bin/sh
# make-clip.sh [OUT]: makes clip.mp4, the clip that the demo and the tests play.
#
# Ten seconds of fragmented MP4, one fragment per frame, as a live encoder would
# send it: two H.264 renditions of the same picture whose one-second groups start
# on the same frames, no B-frames, and Opus with a beep at each full second. The
# white bar at the top edge flashes with the beep, so that sound and picture can
# be compared by eye and ear; the ring turns once a second, so that a dropped or
# repeated frame shows.
#
# Needs ffmpeg with libx264 and libopus, and the DejaVu fonts.
set -eu

out=${1:-$(dirname "$0")/clip.mp4}
seconds=10
fps=30

# The picture is drawn at 720p. Each rendition then gets its own label.
mono='DejaVu Sans Mono'
sans='DejaVu Sans'
# The ring: a faint circle, a hand that fades behind its tip, and the tip.
dist='hypot(X-150\,Y-150)'
turn='mod(atan2(X-150\,150-Y)/(2*PI)+1\,1)'
phase="mod(N\\,$fps)/$fps"
tip="hypot(X-150-118*sin(2*PI*$phase)\\,Y-150+118*cos(2*PI*$phase))"
circle="clip(128-abs($dist-118)*12\\,0\\,110)"
hand="clip(224-abs($dist-118)*16\\,0\\,255)*pow(1-mod($phase-$turn+1\\,1)\\,3)"
dot="clip(255*(12-$tip)\\,0\\,255)"

picture="
gradients=size=1280x720:rate=$fps:duration=$seconds:nb_colors=4:seed=7:speed=0.012:x0=100:y0=40:x1=1180:y1=680
	:c0=0x0b1030:c1=0x134e6f:c2=0x5b21b6:c3=0x0b1030,format=yuv420p,setsar=1[back];
color=white:size=300x300:rate=$fps:duration=$seconds,format=yuva420p,
	geq=lum=255:cb=128:cr=128:a='max($circle\\,max($hand\\,$dot))'[ring];
smptehdbars=size=1280x100:rate=$fps:duration=$seconds,crop=1280:24:0:0,format=yuv420p,setsar=1[bars];
[back][ring]overlay=x=890:y=200[a];
[a][bars]overlay=y=696[b];
[b]drawbox=x=0:y=0:w=iw:h=12:color=white:t=fill:enable='lt(mod(n\\,$fps)\\,3)',
drawtext=font='$mono':text='%{eif\\:mod(trunc(n/$fps)\\,60)\\:d\\:2}.%{eif\\:mod(n\\,$fps)*100/$fps\\:d\\:2}':x=96:y=248:fontsize=200:fontcolor=white,
drawtext=font='$mono':text='frame %{eif\\:n\\:d\\:3}   group %{eif\\:trunc(n/$fps)\\:d\\:2}':x=104:y=470:fontsize=44:fontcolor=0xd6e4ff,
drawtext=font='$sans':text='moq-c4 test clip':x=104:y=130:fontsize=52:fontcolor=0xd6e4ff,
drawtext=font='$mono':text='%{eif\\:trunc(n/$fps)+1\\:d}':x=1040-text_w/2:y=350-text_h/2:fontsize=96:fontcolor=white,
split=2[p0][p1];
[p0]drawtext=font='$mono':text='1280x720':x=104:y=590:fontsize=44:fontcolor=0xfacc15[hi];
[p1]drawtext=font='$mono':text='640x360':x=104:y=590:fontsize=44:fontcolor=0x4ade80,scale=640:360:flags=lanczos[lo]"

# Opus starts with 312 samples that a decoder may drop. The sound begins that
# much later in the signal and the packets are stamped that much later, so that
# both tracks start at zero and the beep still falls on the full second.
preskip=312
samples=$((seconds * 48000 - preskip))
env='exp(-mod(t\,1)*18)*(1-exp(-mod(t\,1)*900))'
tone="if(lt(t\\,1)\\,1320\\,880)"
bed='0.035*sin(2*PI*220*t)'
sound="aevalsrc=exprs='$bed+0.5*$env*sin(2*PI*$tone*t)|$bed+0.5*$env*sin(2*PI*$tone*t+0.4)':s=48000:d=$((seconds + 1)),
atrim=start_sample=$preskip:end_sample=$((preskip + samples)),asetnsamples=960:p=0,asetpts=N+$preskip[snd]"

# -frag_duration 1 cuts a fragment when the track's next frame is there. The
# frag_every_frame flag cuts earlier and, with two video tracks, stamps every
# other frame of the second one with its successor's time (ffmpeg 5.1).
exec ffmpeg -hide_banner -nostats -loglevel warning -y \
	-filter_complex "$(printf '%s;%s' "$picture" "$sound" | tr -d '\n\t')" \
	-map '[hi]' -map '[lo]' -map '[snd]' -fflags +bitexact \
	-c:v libx264 -preset veryslow -tune zerolatency -profile:v main -pix_fmt yuv420p -flags:v +bitexact \
	-bf 0 -g $fps -keyint_min $fps -sc_threshold 0 -x264-params threads=1:sliced-threads=0:ref=2 \
	-b:v:0 1500k -maxrate:v:0 2000k -bufsize:v:0 1500k \
	-b:v:1 450k -maxrate:v:1 600k -bufsize:v:1 450k \
	-c:a libopus -b:a 96k -frame_duration 20 -ac 2 -flags:a +bitexact \
	-frag_duration 1 -movflags +cmaf+separate_moof+skip_trailer \
	-f mp4 "$out"
