-- Whole requests from a file of templates, one after the other, each with a number of its own in the gap of its template. Arguments: the
-- file (written by templates.ts) and the number of the run.
--
-- The number is written into the request's own string, which Lua holds to be constant: joining new strings instead costs 2 µs more a
-- request of 1 KiB and 150 µs more one of 185 KiB, and then the load is slower than the server. wrk copies the string before it asks
-- for the next one, and nothing here compares strings.
local ffi = require("ffi")

local threads = 0

function setup(thread)
  thread:set("thread", threads)
  threads = threads + 1
end

local RUNS, THREADS = 256, 4 -- 65,536 values of the upper half, shared out among both

local requests, gaps = {}, {}
local count, template = 0, 0
local number, high = 65535, 0
-- A number's two halves as they are written: four hexadecimal digits, or two bytes.
local type
local halves

local function prepare(form)
  type = form == "hex" and "uint32_t" or "uint16_t"
  halves = ffi.new(type .. "[65536]")
  for value = 0, 65535 do
    local text = form == "hex" and string.format("%04x", value) or string.char(math.floor(value / 256), value % 256)
    ffi.copy(halves + value, text, #text)
  end
end

local function read(name)
  local file = assert(io.open(name, "rb"))
  prepare(file:read("*l"))
  for line in function() return file:read("*l") end do
    local size, gap = line:match("^(%d+) (%d+)$")
    count = count + 1
    requests[count] = file:read(tonumber(size))
    gaps[count] = ffi.cast(type .. "*", ffi.cast("char*", requests[count]) + tonumber(gap))
  end
  file:close()
end

function init(args)
  read(args[1])
  high = tonumber(args[2]) % RUNS * RUNS + thread % THREADS * (RUNS / THREADS) - 1
end

function request()
  template = template + 1
  if template > count then template = 1 end
  number = number + 1
  if number > 65535 then
    number = 0
    high = (high + 1) % 65536
    for i = 1, count do gaps[i][0] = halves[high] end
  end
  gaps[template][1] = halves[number]
  return requests[template]
end
