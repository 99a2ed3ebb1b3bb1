-- mpv --script=gaps.lua: says with each picture how long none was shown, at most, since the third one.
local count, last, longest = 0, nil, 0

mp.observe_property("time-pos", "number", function(_, position)
  if not position then return end
  local now = mp.get_time()
  count = count + 1
  if count > 3 then longest = math.max(longest, now - last) end
  last = now
  print(string.format("pictures=%d wall=%.3f", count, longest))
end)
