// Memory that the threads of a block share.
#pragma once

// Declares NAME as COUNT elements of T that the block shares. On the host, where it is declared says
// which memory it is, also in each instance of a template.
#ifdef FM_HOST
#define FM_SHARED(T, NAME, COUNT) \
    T(&NAME)[COUNT] = *(T(*)[COUNT])fm_host::shared( \
        []() -> const void * { static const char key = 0; return &key; }(), sizeof(T) * (COUNT))
#else
#define FM_SHARED(T, NAME, COUNT) __shared__ T NAME[COUNT]
#endif
