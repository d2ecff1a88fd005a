return answer(1)
